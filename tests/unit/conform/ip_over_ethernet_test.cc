// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/ip_over_ethernet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "nic/clock.h"
#include "tests/unit/nic/fake_wire.h"

namespace urnic::conform {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using transport::wire::Gid;
using transport::wire::Mac;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMaxFrameBytes = 1514;
constexpr Mac kOwnMac{{2, 0, 10, 77, 0, 1}};
constexpr Mac kPeerMac{{2, 0, 10, 77, 0, 2}};

Gid gid(std::string_view text) {
  return Gid::parse(text).value();
}

/// An IP packet as far as this port looks at it: the version, and what can be told from others.
Bytes packet(unsigned version, unsigned content) {
  Bytes bytes(60, std::byte(content));
  bytes[0] = std::byte(version << 4);
  return bytes;
}

class IpOverEthernetTest : public ::testing::Test {
 protected:
  void make(std::string_view own, std::string_view peer) {
    tester_ = std::make_unique<IpOverEthernet>(
        cable.port(0), IpOverEthernet::Ends{.mac = kOwnMac, .own = gid(own), .peer = gid(peer)}, clock);
    peer_ = std::make_unique<IpOverEthernet>(
        cable.port(1), IpOverEthernet::Ends{.mac = kPeerMac, .own = gid(peer), .peer = gid(own)}, clock);
  }
  void SetUp() override { make("::ffff:10.77.0.1", "::ffff:10.77.0.2"); }

  static void send(IpOverEthernet& from, const Bytes& bytes) {
    const auto room = from.reserve();
    ASSERT_GE(room.size(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    from.commit(bytes.size());
    from.flush();
  }
  static std::vector<Bytes> received(IpOverEthernet& at) {
    std::array<nic::ReceivedFrame, 4> frames;
    std::vector<Bytes> all;
    while (const std::size_t count = at.receive(frames)) {
      for (const nic::ReceivedFrame& frame : std::span(frames).first(count)) {
        all.emplace_back(frame.begin(), frame.end());
      }
    }
    return all;
  }
  /// Questions and answers; whether both know then.
  bool find() {
    tester_->has_found_peer();
    peer_->has_found_peer();
    for (int i = 0; i < 3; ++i) {
      tester_->flush();
      received(*peer_);
      peer_->flush();
      received(*tester_);
    }
    return tester_->has_found_peer() && peer_->has_found_peer();
  }

  nic::GrantedClock clock;
  nic::FakeWire cable{kMaxFrameBytes};
  std::unique_ptr<IpOverEthernet> tester_;
  std::unique_ptr<IpOverEthernet> peer_;
};

TEST_F(IpOverEthernetTest, CarriesPacketsToThePeerThatItHasFound) {
  ASSERT_TRUE(find());
  send(*tester_, packet(4, 7));
  const Bytes& frame = cable.sent_by(0).back();
  EXPECT_TRUE(std::equal(kPeerMac.octets.begin(), kPeerMac.octets.end(), frame.begin(),
                         [](std::uint8_t octet, std::byte byte) { return std::byte{octet} == byte; }));
  EXPECT_EQ(frame[12], std::byte{0x08});
  EXPECT_EQ(frame[13], std::byte{0x00});
  EXPECT_THAT(received(*peer_), ElementsAre(packet(4, 7)));
}

TEST_F(IpOverEthernetTest, FindsPeersByNeighborDiscovery) {
  make("fd09::1", "fd09::2");
  ASSERT_TRUE(find());
  send(*tester_, packet(6, 9));
  EXPECT_EQ(cable.sent_by(0).back()[12], std::byte{0x86});
  EXPECT_EQ(cable.sent_by(0).back()[13], std::byte{0xdd});
  EXPECT_THAT(received(*peer_), ElementsAre(packet(6, 9)));
}

TEST_F(IpOverEthernetTest, LosesWhatIsSentBefore) {
  send(*tester_, packet(4, 7));
  EXPECT_FALSE(tester_->has_found_peer());
  EXPECT_THAT(received(*peer_), IsEmpty());
}

TEST_F(IpOverEthernetTest, AsksAgainWhereNobodyAnswers) {
  const auto questions = [this] {
    return std::count_if(cable.sent_by(0).begin(), cable.sent_by(0).end(), [](const Bytes& frame) {
      return frame[21] == std::byte{1} && frame[41] == std::byte{2};  // an ARP request for 10.77.0.2
    });
  };
  EXPECT_FALSE(tester_->has_found_peer());
  while (clock.on_wire() < 2s) {
    tester_->flush();
    EXPECT_FALSE(tester_->has_found_peer());
    ASSERT_GT(tester_->next_due(), clock.now()) << "what was due has left";
    clock.move_to(std::min(clock.on_wire(tester_->next_due()), transport::Duration(2s)));
  }
  EXPECT_GE(questions(), 4);
  EXPECT_LE(questions(), 8);
}

TEST_F(IpOverEthernetTest, DropsWhatIsForOthers) {
  ASSERT_TRUE(find());
  send(*peer_, packet(4, 1));
  Bytes other = cable.sent_by(1).back();
  received(*tester_);
  other[5] = std::byte{9};
  cable.deliver(0, other);
  EXPECT_THAT(received(*tester_), IsEmpty());
  cable.deliver(0, Bytes(13));
  cable.deliver(0, {});
  EXPECT_THAT(received(*tester_), IsEmpty());
}

TEST_F(IpOverEthernetTest, TakesWhatComesAfterManyFramesForOthers) {
  ASSERT_TRUE(find());
  send(*peer_, packet(4, 1));
  Bytes other = cable.sent_by(1).back();
  received(*tester_);
  other[5] = std::byte{9};
  for (int i = 0; i < 10; ++i) cable.deliver(0, other);
  send(*peer_, packet(4, 3));
  std::array<nic::ReceivedFrame, 4> frames;
  EXPECT_EQ(tester_->receive(frames), 1u);
}

TEST_F(IpOverEthernetTest, HasRoomForWhatTheLinkCarries) {
  EXPECT_EQ(tester_->medium(), nic::Medium::kIp);
  EXPECT_EQ(tester_->max_frame_bytes(), kMaxFrameBytes - 14);
  cable.room[0] = 0;
  EXPECT_TRUE(tester_->reserve().empty());
}

}  // namespace
}  // namespace urnic::conform
