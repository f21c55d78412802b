// RcTest: one reliable connection endpoint, with its memory, queues and sinks, driven by hand.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "tests/support/qp_fixture.h"
#include "tests/support/rc_builders.h"
#include "transport/rc/endpoint.h"

namespace urnic::transport::test {

class RcTest : public QpTest {
 protected:
  Endpoint& endpoint() override { return endpoint_; }

  // --- The peer ---

  /// The packets arrive in one burst, then the endpoint may answer.
  void peer_sends(std::initializer_list<RcPacket> burst);
  void peer_sends(const std::vector<RcPacket>& burst);
  void peer_sends(const RcPacket& packet) { peer_sends({packet}); }
  /// The packet arrives, and nothing has been sent yet.
  void arrives(const RcPacket& packet) { endpoint_.on_packet(packet.view(kOurQp), now_); }

  /// Everything sent since the last call.
  std::vector<RcPacket> sent();
  /// The next packet only, of an endpoint that was not drained: none when there is nothing to send.
  std::optional<RcPacket> poll_one();

  // --- The clock ---

  /// Lets time pass; timers that expire on the way do so at their time.
  void pass(Duration duration);
  /// Goes to the next deadline, whatever it is.
  void pass_to_timeout();
  /// How long until the next deadline; none when no timer runs.
  std::optional<Duration> until_timeout() const;

  RcEndpoint endpoint_{dependencies()};

 private:
  void expire_timer();
};

/// 4.096 us x 2^code (fact 36).
constexpr Duration ack_timeout(unsigned code) {
  return Duration(4096) * (std::int64_t{1} << code);
}

}  // namespace urnic::transport::test
