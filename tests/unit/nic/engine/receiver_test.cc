// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/receiver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <string_view>
#include <variant>

#include "nic/queues/queue_pair_table.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using transport::QpNumber;
using transport::wire::Bth;
using transport::wire::Frame;
using transport::wire::Ipv4;
using transport::wire::Opcode;
using Bytes = FakeWire::Bytes;

/// A good SEND from A to B, which a test spoils before B gets it.
class ReceiverTest : public testing::Test {
 protected:
  ReceiverTest() {
    pair.connect();
    pair.settle();
    pair.b().post_receive(1, 0, 100);
    const std::size_t sent_before = pair.wire.sent_by(0).size();
    pair.wire.is_lost = [](std::size_t, const Bytes&) { return true; };
    pair.a().post_send(1, 0, 8);
    pair.settle();
    pair.wire.is_lost = [](std::size_t, const Bytes&) { return false; };
    good = pair.wire.sent_by(0).at(sent_before);
    parsed = transport::wire::parse_frame(good).value();
  }

  /// The frame with other headers, lengths and checksums right again.
  static Bytes emit(Frame frame) {
    frame.icrc = icrc_of(frame);
    Bytes bytes(200);
    bytes.resize(emit_frame(frame, bytes));
    return bytes;
  }
  /// The same with another BTH in front.
  Bytes with_bth(const std::function<void(Bth&)>& change) const {
    Bth bth = Bth::parse(parsed.ib);
    change(bth);
    Bytes ib(parsed.ib.begin(), parsed.ib.end());
    transport::wire::emit(bth, ib);
    Frame frame = parsed;
    frame.ib = ib;
    return emit(frame);
  }
  Bytes with_ipv4(const std::function<void(Ipv4&)>& change) const {
    Frame frame = parsed;
    change(std::get<Ipv4>(frame.ip));
    return emit(frame);
  }

  /// Delivers `frame` and says whether it was dropped, counted under `reason` once and nowhere else.
  testing::AssertionResult is_dropped(const Bytes& frame, std::string_view reason) {
    const auto drops_before = drops();
    pair.wire.deliver(1, frame);
    pair.settle();
    if (!pair.b().poll().empty()) return testing::AssertionFailure() << "it arrived";
    const auto drops_after = drops();
    for (std::size_t i = 0; i < drops_after.size(); ++i) {
      const std::uint64_t counted = drops_after[i].second - drops_before[i].second;
      const std::uint64_t expected = drops_after[i].first == reason ? 1 : 0;
      if (counted != expected) {
        return testing::AssertionFailure() << drops_after[i].first << " counted " << counted;
      }
    }
    return testing::AssertionSuccess();
  }
  std::vector<std::pair<std::string_view, std::uint64_t>> drops() {
    auto all = pair.b().device().all_counters();
    std::erase_if(all, [](const auto& counter) { return !counter.first.starts_with("rx_drop_"); });
    return all;
  }
  bool arrives(const Bytes& frame) {
    pair.wire.deliver(1, frame);
    pair.settle();
    return pair.b().poll().size() == 1;
  }

  DevicePair pair;
  Bytes good;
  Frame parsed;
};

TEST_F(ReceiverTest, TakesAGoodFrame) {
  EXPECT_TRUE(arrives(good));
}

TEST_F(ReceiverTest, TakesAFrameWhoseBuilderIsTheTest) {
  EXPECT_TRUE(arrives(with_bth([](Bth&) {})));
}

TEST_F(ReceiverTest, IgnoresMigReqAndTheSourcePort) {
  Frame frame = parsed;
  frame.udp.source_port = 0;
  EXPECT_TRUE(arrives(emit(frame)));
}

TEST_F(ReceiverTest, DropsAFrameWithABitFlippedAnywhereInThePayload) {
  Bytes bad = good;
  bad[bad.size() - 6] ^= std::byte{1};
  EXPECT_TRUE(is_dropped(bad, "rx_drop_bad_icrc"));
}

TEST_F(ReceiverTest, DoesNotLookAtAnIcrcThatWasLeftOut) {
  Bytes without = good;
  without.back() ^= std::byte{1};
  EXPECT_TRUE(is_dropped(without, "rx_drop_bad_icrc"));
  pair.wire.deliver(1, without, false);
  pair.settle();
  EXPECT_EQ(pair.b().poll().size(), 1u);
}

TEST_F(ReceiverTest, DropsATruncatedFrame) {
  Bytes bad = good;
  bad.resize(bad.size() - 1);
  EXPECT_TRUE(is_dropped(bad, "rx_drop_truncated"));
}

TEST_F(ReceiverTest, DropsAnEmptyFrame) {
  EXPECT_TRUE(is_dropped({}, "rx_drop_truncated"));
}

TEST_F(ReceiverTest, DropsWhatIsNotIp) {
  Bytes bad = good;
  bad[12] = std::byte{0x88};
  bad[13] = std::byte{0xcc};
  EXPECT_TRUE(is_dropped(bad, "rx_drop_not_ip"));
}

TEST_F(ReceiverTest, DropsAnotherUdpPort) {
  Frame frame = parsed;
  frame.udp.destination_port = 4792;
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_not_roce"));
}

TEST_F(ReceiverTest, DropsAFragment) {
  EXPECT_TRUE(is_dropped(with_ipv4([](Ipv4& ip) { ip.more_fragments = true; }), "rx_drop_fragment"));
}

TEST_F(ReceiverTest, DropsAnUnknownOpcode) {
  EXPECT_TRUE(is_dropped(with_bth([](Bth& bth) { bth.opcode = Opcode{0x1f}; }), "rx_drop_unknown_opcode"));
}

TEST_F(ReceiverTest, DropsAnotherTransportVersion) {
  EXPECT_TRUE(is_dropped(with_bth([](Bth& bth) { bth.version = 1; }), "rx_drop_bad_version"));
}

TEST_F(ReceiverTest, DropsWhatIsForAnotherMac) {
  Frame frame = parsed;
  frame.ethernet.destination.octets[5] = 0x77;
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_wrong_mac"));
  frame.ethernet.destination = transport::wire::Mac::broadcast();
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_wrong_mac"));
}

/// A tag of IEEE 802.1Q with this VLAN id and priority 5.
void add_tag(Frame& frame, std::uint16_t vlan) {
  frame.ethernet.vlan_tags[frame.ethernet.vlan_tag_count++].control =
      static_cast<std::uint16_t>(5u << 13 | vlan);
}

TEST_F(ReceiverTest, TakesAPriorityTaggedFrame) {
  Frame frame = parsed;
  add_tag(frame, 0);
  EXPECT_TRUE(arrives(emit(frame)));
}

TEST_F(ReceiverTest, DropsTheFramesOfAVlan) {
  Frame frame = parsed;
  add_tag(frame, 7);
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_wrong_vlan"));
}

TEST_F(ReceiverTest, DropsFramesWithTwoTagsOrAServiceTag) {
  Frame frame = parsed;
  add_tag(frame, 0);
  frame.ethernet.vlan_tags[0].type = transport::wire::EtherType::kServiceVlan;
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_wrong_vlan"));
  frame.ethernet.vlan_tags[0].type = transport::wire::EtherType::kVlan;
  add_tag(frame, 0);
  EXPECT_TRUE(is_dropped(emit(frame), "rx_drop_wrong_vlan"));
}

TEST_F(ReceiverTest, DropsWhatIsForAnotherAddress) {
  EXPECT_TRUE(is_dropped(with_ipv4([](Ipv4& ip) { ip.destination.octets[3] = 9; }), "rx_drop_wrong_address"));
}

TEST_F(ReceiverTest, DropsWhatIsForAQueuePairThatDoesNotExist) {
  const auto other = [](Bth& bth) {
    bth.destination_qp = QpNumber{(transport::to_integer(bth.destination_qp) + 1) & 0xffffff};
  };
  EXPECT_TRUE(is_dropped(with_bth(other), "rx_drop_unknown_qp"));
  const auto of_the_same_slot = [](Bth& bth) {
    bth.destination_qp =
        QpNumber{(transport::to_integer(bth.destination_qp) + QueuePairTable::kSlots) & 0xffffff};
  };
  EXPECT_TRUE(is_dropped(with_bth(of_the_same_slot), "rx_drop_unknown_qp"));
  EXPECT_TRUE(is_dropped(with_bth([](Bth& bth) { bth.destination_qp = QpNumber{0}; }), "rx_drop_unknown_qp"));
  const auto of_a_group = [](Bth& bth) { bth.destination_qp = kMulticastQp; };
  EXPECT_TRUE(is_dropped(with_bth(of_a_group), "rx_drop_unknown_qp"));
}

TEST_F(ReceiverTest, DropsWhatIsForTheManagementQueuePair) {
  EXPECT_TRUE(is_dropped(with_bth([](Bth& bth) { bth.destination_qp = QpNumber{1}; }), "rx_drop_management"));
}

TEST_F(ReceiverTest, ComparesFifteenBitsOfThePkey) {
  EXPECT_TRUE(is_dropped(with_bth([](Bth& bth) { bth.pkey = 0xfffe; }), "rx_drop_bad_pkey"));
  // A limited member may talk to a full one.
  EXPECT_TRUE(arrives(with_bth([](Bth& bth) { bth.pkey = 0x7fff; })));
}

TEST_F(ReceiverTest, DropsAnotherService) {
  const auto as_uc = [](Bth& bth) { bth.opcode = with_service(bth.opcode, transport::wire::Service::kUc); };
  EXPECT_TRUE(is_dropped(with_bth(as_uc), "rx_drop_wrong_service"));
}

TEST_F(ReceiverTest, DropsACongestionNotification) {
  Bytes ib(12 + 16);
  transport::wire::emit(Bth{.opcode = Opcode::kCnp, .becn = true, .destination_qp = pair.b().qp().number()},
                        ib);
  Frame frame = parsed;
  frame.ib = ib;
  EXPECT_TRUE(is_dropped(emit(frame), "rp_cnp_ignored"));
}

TEST_F(ReceiverTest, DropsWhatDoesNotComeFromThePeer) {
  EXPECT_TRUE(is_dropped(with_ipv4([](Ipv4& ip) { ip.source.octets[3] = 9; }), "rx_drop_wrong_peer"));
}

TEST_F(ReceiverTest, DropsEverythingForAQueuePairThatIsNotReady) {
  ASSERT_TRUE(pair.b().qp().modify({.state = transport::QpState::kError}));
  pair.settle();
  pair.b().poll();
  EXPECT_TRUE(is_dropped(good, "rx_drop_wrong_state"));
  ASSERT_TRUE(pair.b().qp().modify({.state = transport::QpState::kReset}));
  EXPECT_TRUE(is_dropped(good, "rx_drop_wrong_state"));
  ASSERT_TRUE(pair.b().qp().modify(DevicePair::init_attributes()));
  EXPECT_TRUE(is_dropped(good, "rx_drop_wrong_state"));
}

TEST_F(ReceiverTest, LearnsThePeersMacFromAGoodFrameAndFromNoOther) {
  DevicePair fresh;
  // B knows A's address from the handshake of ARP only when it was asked; take a pair that never spoke.
  const auto asked_before = fresh.b().counter("neighbor_requests_sent");
  fresh.connect();
  fresh.settle();
  EXPECT_LE(fresh.b().counter("neighbor_requests_sent"), asked_before + 1);
}

TEST_F(ReceiverTest, SurvivesAnyBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes frame = good;
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t n = 0; n < changes; ++n) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) frame.resize(random() % (frame.size() + 1));
    pair.wire.deliver(1, frame);
  }
  pair.settle();
  EXPECT_LE(pair.b().poll().size(), 1u);
  // The connection lives: A sends what was lost with it.
  pair.b().post_receive(2, 0, 100);
  pair.a().post_send(2, 0, 8);
  pair.settle();
  pair.pass(std::chrono::seconds(1));
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok");
}

}  // namespace
}  // namespace urnic::nic
