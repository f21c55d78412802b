// What the user may say about the DPDK ports.
#pragma once

namespace urnic::drivers {

struct DpdkOptions {
  bool verbose = false;  ///< let EAL and its drivers print to stderr
};

}  // namespace urnic::drivers
