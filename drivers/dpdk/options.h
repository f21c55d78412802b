// What the user may say about the DPDK ports.
#pragma once

namespace urnic::drivers {

struct DpdkOptions {
  bool verbose = false;  ///< let EAL and its drivers print to stderr
  /// Address space for rings and packet buffers, in MiB. Only what a pool touches becomes resident.
  unsigned memory_mib = 128;
};

}  // namespace urnic::drivers
