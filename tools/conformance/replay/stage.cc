// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/stage.h"

#include <algorithm>
#include <chrono>

#include "transport/make_endpoint.h"
#include "transport/wire/packet.h"

namespace urnic::replay {

transport::wire::Service service_of(check::Service service) {
  switch (service) {
    case check::Service::kUc:
      return transport::wire::Service::kUc;
    case check::Service::kUd:
      return transport::wire::Service::kUd;
    default:
      return transport::wire::Service::kRc;
  }
}

transport::Time time_of(std::int64_t time_ns, std::int64_t first_ns) {
  return transport::Time(std::chrono::seconds(1)) + transport::Duration(time_ns - first_ns);
}

Stage::Stage(transport::Dma& dma, const transport::QpConfig& config, std::size_t sends)
    : send_queue_({.work_requests = static_cast<std::uint32_t>(std::max<std::size_t>(sends, 1)), .sges = 1}),
      receive_queue_({.work_requests = 4, .sges = 1}),
      room_(transport::kMaxPacketHeaderBytes + bytes(config.path_mtu)),
      endpoint_(transport::make_endpoint(
          config.service,
          {.dma = dma,
           .send_queue = send_queue_,
           .send_completions = &send_completions_,
           .receiver = {.queue = &receive_queue_, .completions = &receive_completions_, .pd = config.pd},
           .events = *this,
           .counters = counters_})) {
  restart(config);
}

void Stage::restart(const transport::QpConfig& config) {
  endpoint_->reset();
  endpoint_->to_init(config);
  endpoint_->to_ready_to_receive(config);
  endpoint_->to_ready_to_send(config);
}

bool Stage::give(const CapturedPacket& packet, transport::Time now) {
  auto parsed = transport::wire::parse_packet(packet.ib());
  if (!parsed) return false;
  parsed.value().network_header = packet.frame.ip_header;
  endpoint_->on_packet(parsed.value(), now);
  return true;
}

std::span<const std::byte> Stage::take(transport::Time now) {
  return std::span(room_).first(endpoint_->poll_transmit(room_, now).size);
}

void Stage::post_send(const transport::SendRequest& request, const transport::Sge& element) {
  send_queue_.prepare(request, std::span(&element, 1), element.length);
  send_queue_.publish();
}

void Stage::post_receive(const transport::Sge& element) {
  receive_queue_.prepare({}, std::span(&element, 1), element.length);
  receive_queue_.publish();
}

}  // namespace urnic::replay
