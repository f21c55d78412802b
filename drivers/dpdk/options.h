// What the user may say about the DPDK ports.
#pragma once

#include <cstdint>

namespace urnic::drivers {

/// The largest link MTU that the drivers take, bytes.
inline constexpr std::uint16_t kMaxLinkMtu = 9600;

struct DpdkOptions {
  bool verbose = false;  ///< let EAL and its drivers print to stderr
  /// Address space for rings and packet buffers, in MiB. Only what a pool touches becomes resident.
  unsigned memory_mib = 128;
};

}  // namespace urnic::drivers
