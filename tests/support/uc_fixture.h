// UcTest: one unreliable connection endpoint, with its memory, queues and sinks, driven by hand.
#pragma once

#include <initializer_list>
#include <vector>

#include "tests/support/qp_fixture.h"
#include "tests/support/rc_builders.h"
#include "transport/uc/endpoint.h"

namespace urnic::transport::test {

/// The packet as an unreliable connection sends it: the service's bits in the opcode, and no acknowledgement
/// asked for (fact 18).
RcPacket as_uc(RcPacket packet);
std::vector<RcPacket> as_uc(std::vector<RcPacket> packets);

/// Tests name packets by the reliable connection's builders; what the peer sends is made UC's here.
class UcTest : public QpTest {
 protected:
  explicit UcTest(bool shares_receive_queue = false);

  Endpoint& endpoint() override { return endpoint_; }

  /// The packets arrive in one burst; no packet may answer them.
  void peer_sends(const std::vector<RcPacket>& burst);
  void peer_sends(std::initializer_list<RcPacket> burst) { peer_sends(std::vector<RcPacket>(burst)); }
  void peer_sends(const RcPacket& packet) { peer_sends({packet}); }

  /// Everything sent since the last call.
  std::vector<RcPacket> sent();

  UcEndpoint endpoint_;
};

}  // namespace urnic::transport::test
