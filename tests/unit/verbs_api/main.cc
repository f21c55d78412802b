// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include <cstdlib>

// The environment tells the device its address, before the first call of libibverbs. A loopback
// port needs no privilege, no DPDK and no lease.
int main(int argc, char** argv) {
  setenv("URNIC_PORT", "loopback", 1);
  setenv("URNIC_IP", "10.77.9.1/24", 1);
  setenv("URNIC_IP6", "fd77::9/64", 1);
  setenv("URNIC_MTU", "4200", 1);
  unsetenv("URNIC_MAC");
  unsetenv("URNIC_PCAP");
  unsetenv("URNIC_RECORD");
  unsetenv("URNIC_FAULT");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
