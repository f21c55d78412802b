#include "tools/simulation/seeds/traffic/connect.h"

namespace urnic::sim {

using transport::QpState;

Result<void, Error> connect(const ConnectionEnd& end, const Options& options) {
  nic::QpAttributes to_init;
  to_init.state = QpState::kInit;
  to_init.pkey_index = 0;
  to_init.port = 1;
  to_init.access = end.access;
  if (auto result = end.qp.modify(to_init); !result) return result;

  nic::QpAttributes to_receive;
  to_receive.state = QpState::kReadyToReceive;
  to_receive.address = nic::AddressVector{.destination = end.peer.gid(),
                                          .source_gid_index = end.host.gid_index(),
                                          .traffic_class = end.traffic_class};
  to_receive.path_mtu = options.path_mtu;
  to_receive.destination_qp = end.peer_qp;
  to_receive.receive_psn = end.receive_psn;
  if (end.recovery == transport::Recovery::kSelectiveRepeat) {
    if (auto result = end.qp.agree_on(nic::kSelectiveRepeatOption); !result) return result;
  }
  const nic::QpType type = end.qp.attributes().type;
  if (type != nic::QpType::kXrcInitiator) {
    to_receive.max_responder_resources = options.max_reads_in_flight;
    to_receive.min_rnr_timer = options.min_rnr_timer;
  }
  if (auto result = end.qp.modify(to_receive); !result) return result;

  nic::QpAttributes to_send;
  to_send.state = QpState::kReadyToSend;
  to_send.send_psn = end.send_psn;
  to_send.ack_timeout = options.ack_timeout;
  if (type == nic::QpType::kXrcTarget) return end.qp.modify(to_send);
  to_send.max_reads_in_flight = options.max_reads_in_flight;
  to_send.retry_count = options.retry_count;
  to_send.rnr_retry = options.rnr_retry;
  return end.qp.modify(to_send);
}

}  // namespace urnic::sim
