// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/number_text.h"

#include <fmt/core.h>

namespace urnic::check {

std::string to_string(Psn psn) {
  return std::to_string(psn.value());
}

std::string qp_text(std::uint32_t number) {
  return fmt::format("{:#08x}", number);
}

std::string key_text(std::uint32_t key) {
  return fmt::format("{:#010x}", key);
}

}  // namespace urnic::check
