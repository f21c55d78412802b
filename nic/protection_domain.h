// ProtectionDomain: what ties queue pairs to the memory they may use.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/types.h"

namespace urnic::nic {

struct ProtectionDomain {
  transport::PdId id{};
  /// Memory regions, queue pairs and address handles in it; deallocating is refused while there are any.
  std::atomic<std::uint32_t> users{0};
};

}  // namespace urnic::nic
