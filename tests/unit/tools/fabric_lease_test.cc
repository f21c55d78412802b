// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Leases on a fabric: slots, addresses, and who is there.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "nic/host/lease.h"
#include "nic/host/lease_slots.h"
#include "tests/support/value_of.h"
#include "tests/unit/tools/temporary_environment.h"

namespace urnic::nic {
namespace {

using ::testing::HasSubstr;
using transport::wire::Ipv4Address;

constexpr std::chrono::milliseconds kNoPatience{0};

PortSpec fabric(unsigned slot = 0, const char* name = "lab") {
  return {.kind = PortSpec::Kind::kFabric, .side = {}, .target = name, .slot = slot};
}

Lease::Request any(const char* ipv4 = nullptr) {
  return {.port = fabric(),
          .any_slot = true,
          .ipv4 = ipv4 != nullptr ? Ipv4Address::parse(ipv4) : std::nullopt,
          .ipv6 = {},
          .patience = kNoPatience};
}

class FabricLeaseTest : public tools::TemporaryEnvironment {
 protected:
  FabricLeaseTest() { choose_network("lab", "10.77.0.0"); }
  Lease taken(const Lease::Request& request) { return urnic::test::value_of(Lease::take(request)); }
};

TEST_F(FabricLeaseTest, GivesEachProgramASlotAndAnAddressOfItsOwn) {
  std::vector<Lease> leases;
  for (unsigned i = 0; i < kFabricPorts; ++i) {
    leases.push_back(taken(any()));
    EXPECT_EQ(leases.back().port().slot, i);
    EXPECT_EQ(leases.back().ipv4(), (Ipv4Address{{10, 77, 0, static_cast<std::uint8_t>(i + 1)}}));
  }
  const auto one_too_many = Lease::take(any());
  ASSERT_FALSE(one_too_many);
  EXPECT_EQ(one_too_many.error().code, EBUSY);
  EXPECT_THAT(one_too_many.error().message, HasSubstr("all 241 ports of fabric lab are taken"));

  leases[7] = Lease();
  EXPECT_EQ(taken(any()).port().slot, 7u);
}

TEST_F(FabricLeaseTest, GivesAnAddressThatNobodyHasAskedFor) {
  const Lease first = taken(any("10.77.0.2"));
  const Lease second = taken(any());
  EXPECT_EQ(second.port().slot, 1u);
  EXPECT_EQ(second.ipv4(), (Ipv4Address{{10, 77, 0, 3}}));
  const Lease third = taken(any());
  EXPECT_EQ(third.ipv4(), (Ipv4Address{{10, 77, 0, 4}}));
  const auto taken_address = Lease::take(any("10.77.0.3"));
  ASSERT_FALSE(taken_address);
  EXPECT_EQ(taken_address.error().code, EADDRINUSE);
}

TEST_F(FabricLeaseTest, TellsFabricsApart) {
  const Lease here = taken(any());
  Lease::Request elsewhere = any();
  elsewhere.port = fabric(0, "other");
  EXPECT_EQ(taken(elsewhere).port().slot, 0u);
}

TEST_F(FabricLeaseTest, DrawsTheNetworkOfAFabricOnce) {
  std::set<std::string> networks;
  for (const char* const name : {"a", "b", "c", "d", "e"}) {
    Lease::Request request = any();
    request.port = fabric(0, name);
    const Ipv4Address address = taken(request).ipv4().value();
    EXPECT_EQ(address, taken(request).ipv4()) << "another time";
    EXPECT_EQ(address.octets[0], 10);
    EXPECT_EQ(address.octets[1] & 0xc0, 64);
    EXPECT_EQ(address.octets[3], 1);
    networks.insert(to_string(address));
  }
  EXPECT_GT(networks.size(), 3u) << "five times one of 16384";
}

TEST_F(FabricLeaseTest, DrawsAnotherNetworkWhereTheFileMakesNoSense) {
  for (const char* const text : {"", "rubbish", "10.77.0.5", "224.0.0.0", "10.77.0.0.0"}) {
    choose_network("lab", text);
    const Lease lease = taken(any());
    EXPECT_EQ(lease.ipv4()->octets[0], 10) << text;
    EXPECT_EQ(lease.ipv4()->octets[3], 1) << text;
  }
}

TEST_F(FabricLeaseTest, TakesTheSlotThatWasNamed) {
  Lease::Request request = any();
  request.any_slot = false;
  request.port = fabric(9);
  const Lease lease = taken(request);
  EXPECT_EQ(lease.port().slot, 9u);
  const auto again = Lease::take(request);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("port 9 of fabric lab is taken"));
}

TEST_F(FabricLeaseTest, IsAdoptedInItsSlotAndNoOther) {
  const Lease lease = taken(any());
  Lease::Request exported = any();
  exported.any_slot = false;
  exported.ipv4 = lease.ipv4();
  EXPECT_TRUE(Lease::adopt(exported));
  exported.port = fabric(1);
  EXPECT_FALSE(Lease::adopt(exported));
  exported.port = fabric(0, "other");
  EXPECT_FALSE(Lease::adopt(exported));
}

TEST_F(FabricLeaseTest, ShowsWhoIsThere) {
  EXPECT_TRUE(held_slots(fabric()).value().empty());
  const Lease first = taken(any());
  const Lease second = taken(any("192.168.5.5"));
  const auto held = held_slots(fabric());
  ASSERT_TRUE(held);
  ASSERT_EQ(held.value().size(), 2u);
  EXPECT_EQ(held.value()[1].slot, 1u);
  EXPECT_EQ(held.value()[1].record.process, getpid());
  EXPECT_EQ(held.value()[1].record.ipv4, Ipv4Address::parse("192.168.5.5"));
}

TEST_F(FabricLeaseTest, ToLookWhoIsThereTakesNothing) {
  const Lease first = taken(any());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(held_slots(fabric()));
  EXPECT_EQ(taken(any()).port().slot, 1u);
}

TEST(FabricName, IsShortAndPlain) {
  EXPECT_TRUE(check_fabric_name("a"));
  EXPECT_TRUE(check_fabric_name("Lab-2_b"));
  for (const char* name : {"", ".", "..", "a/b", "a b", "a,b", "\xc3\xa4", "1234567890123456789012345"}) {
    EXPECT_FALSE(check_fabric_name(name)) << name;
  }
}

TEST(FabricSlots, AreSharedOutAmongItsSwitches) {
  std::array<unsigned, kFabricSwitches> ports{};
  for (unsigned slot = 0; slot < kFabricPorts; ++slot) {
    ASSERT_LT(switch_of_slot(slot), kFabricSwitches) << slot;
    ++ports[switch_of_slot(slot)];
  }
  EXPECT_THAT(ports, ::testing::ElementsAre(24, 31, 31, 31, 31, 31, 31, 31));
  EXPECT_EQ(switch_of_slot(23), 0u);
  EXPECT_EQ(switch_of_slot(24), 1u);
}

TEST_F(FabricLeaseTest, EachSwitchHasFilesOfItsOwn) {
  const auto folder = FabricFolder::open("lab");
  ASSERT_TRUE(folder);
  std::set<std::string> seen;
  for (unsigned number = 0; number < kFabricSwitches; ++number) {
    const SwitchFiles files = folder.value().files_of_switch(number);
    seen.insert({files.control_socket, files.lock, files.log, folder.value().trunk_socket(number)});
  }
  EXPECT_EQ(seen.size(), 4u * kFabricSwitches);
}

TEST_F(FabricLeaseTest, NoSwitchRunsUntilOneHoldsTheLock) {
  const auto folder = FabricFolder::open("lab");
  ASSERT_TRUE(folder);
  const SwitchFiles files = folder.value().files_of_switch(0);
  EXPECT_FALSE(running_switch(files));
  auto lock = LockFile::open(files.lock, LockFile::Missing::kCreate);
  ASSERT_TRUE(lock);
  const std::string text = "process 4711 mtu 9000\n";
  ASSERT_EQ(write(lock.value().fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_FALSE(running_switch(files)) << "a switch that has died left it";
  ASSERT_TRUE(lock.value().try_lock());
  const auto running = running_switch(files);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->process, 4711);
  EXPECT_EQ(running->link_mtu, 9000);
}

}  // namespace
}  // namespace urnic::nic
