// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the kernel's files say of interfaces, as Linux 6.1 wrote them.
#include "nic/host/interfaces.h"

#include <gmock/gmock.h>

namespace urnic::nic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = InterfaceAddress::State;

TEST(AddressStates, KnowWhatIsTentativeAndWhatHasFailed) {
  const auto states = address_states_of(
      "00000000000000000000000000000001 01 80 10 80       lo\n"
      "fd790000000000000000000000000001 03 40 00 c0     eth0\n"
      "fd790000000000000000000000000002 03 40 00 c8     eth0\n"
      "fd790000000000000000000000000003 03 40 00 44     eth0\n");
  ASSERT_EQ(states.size(), 4u);
  EXPECT_EQ(states[0].state, State::kReady);
  EXPECT_EQ(states[0].interface, "lo");
  EXPECT_EQ(states[1].state, State::kTentative);
  EXPECT_EQ(to_string(states[1].gid), "fd79::1");
  EXPECT_EQ(states[2].state, State::kFailed);
  EXPECT_EQ(states[3].state, State::kReady) << "an optimistic one may be used";
}

TEST(AddressStates, AreNoneInATextThatIsNotTheKernels) {
  EXPECT_THAT(address_states_of(""), IsEmpty());
  EXPECT_THAT(address_states_of("fd79 03 40 00 c0 eth0\n\n zz\n"), IsEmpty());
}

TEST(DefaultRoutes, AreThoseThatLeadEverywhereThroughAnInterface) {
  const auto interfaces = default_routes_of(
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
      "bad0\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n"
      "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n",
      "20010db8000500000000000000000000 40 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 00000100 00000001 00000000 00000001     net0\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "20010db8000500000000000000000001 00000400 00000001 00000000 00000003     wlan0\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n");
  EXPECT_THAT(interfaces, ElementsAre("eth0", "wlan0"));
}

}  // namespace
}  // namespace urnic::nic
