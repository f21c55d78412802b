// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/peer_memory.h"

#include <gtest/gtest.h>

namespace urnic::conform {
namespace {

PeerMemory memory() {
  PeerMemory memory;
  memory.add(
      {.script =
           {.name = "local", .address = 0x100000, .size = 0x20000, .key = 0x1001, .rights = {}, .pd = {}},
       .number = 0,
       .address = 0x7f0000001000,
       .rkey = 55});
  memory.add(
      {.script =
           {.name = "shared", .address = 0x200000, .size = 0x20000, .key = 0x2001, .rights = {}, .pd = {}},
       .number = 1,
       .address = 0x7f0000800000,
       .rkey = 66});
  return memory;
}

scripts::PacketFields write_to(std::uint64_t va, std::uint32_t rkey) {
  auto packet = *scripts::named_packet("WRITE_ONLY", scripts::WireService::kRc);
  packet.va = va;
  packet.rkey = rkey;
  return packet;
}

TEST(PeerMemory, TurnsAddressAndKeyIntoThePeers) {
  const auto packet = memory().as_peer_has_it(write_to(0x200010, 0x2001));
  EXPECT_EQ(packet.va, 0x7f0000800010u);
  EXPECT_EQ(packet.rkey, 66u);
}

TEST(PeerMemory, KeepsWhatIsOutsideOutside) {
  const auto after = memory().as_peer_has_it(write_to(0x220000, 0x2001));
  EXPECT_EQ(after.va, 0x7f0000820000u);
  const auto before = memory().as_peer_has_it(write_to(0x1fffff, 0x2001));
  EXPECT_EQ(before.va, 0x7f00007fffffu);
  const auto at_the_end = memory().as_peer_has_it(write_to(0xffffffffffffff00, 0x2001));
  EXPECT_EQ(at_the_end.va, 0xffffffffffffff00u) << "so that adding a length wraps";
}

TEST(PeerMemory, GivesAnUnknownKeyNoMeaning) {
  const auto packet = memory().as_peer_has_it(write_to(0x200010, 0xbad));
  EXPECT_NE(packet.rkey, 55u);
  EXPECT_NE(packet.rkey, 66u);
  EXPECT_EQ(packet.va, 0x7f0000800010u);
  PeerMemory with_that_key;
  with_that_key.add({.script = {.name = "x", .address = 0, .size = 1, .key = 1, .rights = {}, .pd = {}},
                     .number = 0,
                     .address = 0,
                     .rkey = ~0xbadu});
  EXPECT_NE(with_that_key.peers_key(0xbad), ~0xbadu);
}

TEST(PeerMemory, SaysElements) {
  const transport::Sge sges[] = {{.address = 0x100004, .length = 8, .lkey = transport::Lkey{0x1001}},
                                 {.address = 0x240000, .length = 1, .lkey = transport::Lkey{0x2001}}};
  EXPECT_EQ(memory().elements_text(sges), " sge=0:4:8 sge=1:262144:1");
  const transport::Sge unknown[] = {{.address = 0, .length = 8, .lkey = transport::Lkey{9}}};
  EXPECT_EQ(memory().elements_text(unknown), std::nullopt);
}

}  // namespace
}  // namespace urnic::conform
