#include "tests/support/rc_fixture.h"

#include <algorithm>

namespace urnic::transport::test {
namespace {

RcPacket value_of_sent(const Bytes& bytes, QpNumber peer) {
  const auto packet = parse_sent(bytes);
  if (!packet) return {};
  EXPECT_EQ(packet->bth.destination_qp, peer);
  return to_value(*packet);
}

}  // namespace

void RcTest::peer_sends(std::initializer_list<RcPacket> burst) {
  peer_sends(std::vector<RcPacket>(burst));
}

void RcTest::peer_sends(const std::vector<RcPacket>& burst) {
  for (const RcPacket& packet : burst) {
    arrives(packet);
  }
  drain();
}

std::optional<RcPacket> RcTest::poll_one() {
  const auto bytes = poll_bytes();
  if (!bytes) {
    return std::nullopt;
  }
  return value_of_sent(*bytes, kPeerQp);
}

std::vector<RcPacket> RcTest::sent() {
  std::vector<RcPacket> packets;
  for (const Bytes& bytes : sent_bytes()) {
    packets.push_back(value_of_sent(bytes, kPeerQp));
  }
  return packets;
}

void RcTest::expire_timer() {
  endpoint_.on_timeout(now_);
  drain();
  EXPECT_GT(endpoint_.next_timeout(), now_) << "a timer that expired asks for the past";
}

void RcTest::pass(Duration duration) {
  const Time end = now_ + duration;
  while (endpoint_.next_timeout() <= end) {
    now_ = std::max(now_, endpoint_.next_timeout());
    expire_timer();
    if (HasFailure()) {
      return;
    }
  }
  now_ = end;
  drain();
}

void RcTest::pass_to_timeout() {
  const auto left = until_timeout();
  ASSERT_TRUE(left.has_value()) << "no timer runs";
  pass(*left);
}

std::optional<Duration> RcTest::until_timeout() const {
  const Time deadline = endpoint_.next_timeout();
  if (deadline == kNever) {
    return std::nullopt;
  }
  return std::max(deadline - now_, Duration(0));
}

}  // namespace urnic::transport::test
