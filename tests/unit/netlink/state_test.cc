// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is read of the files that show a device.
#include "tools/runtime/netlink/state.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/sysmacros.h>

#include "tests/unit/netlink/device_files.h"

namespace urnic::netlink {
namespace {

TEST(ShownState, ReadsTheFilesOfADevice) {
  const DeviceFiles files;
  files.add("urnic0");
  std::filesystem::create_directories(files.folder() + "/sys/class/infiniband/urnic0/device/net/lo");
  files.write("sys/class/infiniband/urnic0/ports/1/hw_counters/sent_pkts", "18446744073709551615");
  files.write("counter_names/urnic0", "irdma");
  files.write("sys/class/infiniband_verbs/abi_version", "6");
  files.write("sys/class/infiniband_verbs/uverbs4/ibdev", "urnic0");
  files.write("sys/class/infiniband_verbs/uverbs4/abi_version", "1");
  std::filesystem::create_directories(files.folder() + "/dev/infiniband");
  std::filesystem::create_symlink("/dev/null", files.folder() + "/dev/infiniband/uverbs4");
  const auto devices = ShownState(files.folder()).devices();
  ASSERT_EQ(devices.size(), 1u);
  const Device& device = devices[0];
  EXPECT_EQ(device.name, "urnic0");
  EXPECT_EQ(device.firmware, "0.1.0");
  EXPECT_EQ(device.node_guid, 0x0200c0fffe000202u);
  EXPECT_EQ(device.system_guid, 0x0200c0fffe000203u);
  EXPECT_EQ(device.port_state, 4);
  EXPECT_EQ(device.port_physical_state, 5);
  EXPECT_EQ(device.interface, "lo");
  EXPECT_EQ(device.interface_index, if_nametoindex("lo"));
  ASSERT_TRUE(device.verbs_node);
  EXPECT_EQ(device.verbs_node->name, "uverbs4");
  EXPECT_EQ(device.verbs_node->abi, 1u);
  EXPECT_EQ(device.verbs_node->device, makedev(1, 3));
  EXPECT_EQ(device.counters.at("sent_pkts"), ~std::uint64_t{0});
  EXPECT_EQ(device.counter_names, nic::CounterNames::kIrdma);
}

TEST(ShownState, ListsDevicesByTheirNumbers) {
  const DeviceFiles files;
  for (const char* name : {"urnic10", "urnic2", "urnic0"}) files.add(name);
  const auto devices = ShownState(files.folder()).devices();
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, "urnic0");
  EXPECT_EQ(devices[1].name, "urnic2");
  EXPECT_EQ(devices[2].name, "urnic10");
}

TEST(ShownState, DoesWithoutFilesThatAreNotThere) {
  const DeviceFiles files;
  EXPECT_TRUE(ShownState(files.folder()).devices().empty());
  std::filesystem::create_directories(files.folder() + "/sys/class/infiniband/urnic0/device/net/nowhere9");
  files.write("sys/class/infiniband/urnic0/node_guid", "zebra");
  const auto devices = ShownState(files.folder()).devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].node_guid, 0u);
  EXPECT_EQ(devices[0].port_state, 0);
  EXPECT_EQ(devices[0].interface, "");
  EXPECT_FALSE(devices[0].verbs_node);
}

}  // namespace
}  // namespace urnic::netlink
