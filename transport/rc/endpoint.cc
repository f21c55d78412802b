// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/endpoint.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace urnic::transport {

namespace {

// A READ is requested in pieces of half a window, so that the peer has the next piece's request while it
// answers the last piece. Where the peer takes one request at a time, a piece is a whole window.
SendWindow::Settings window_settings(const QpConfig& config) {
  const std::uint32_t pieces = config.max_reads_in_flight > 1 ? 2 : 1;
  return {.mtu_bytes = bytes(config.path_mtu),
          .read_piece = std::max(config.window_packets / pieces, 1u),
          .recovery = config.recovery};
}

}  // namespace

RcEndpoint::RcEndpoint(const QpDependencies& dependencies)
    : deps_(dependencies),
      window_(deps_.send_queue),
      requester_(deps_, lifecycle_.config(), window_, retry_, credits_, pacer_),
      completer_(deps_, lifecycle_.config(), window_, retry_, credits_, pacer_),
      responder_(deps_, lifecycle_.config(), pacer_) {}

void RcEndpoint::reset() {
  lifecycle_.reset();
  has_failed_ = false;
  retry_ = {};
  pacer_.start(nullptr);
  requester_.clear_error();
  completer_.clear_error();
  // A peer that reconnects begins with PSNs of its own; nothing of the old ones may remain (fact 40).
  window_.start(Psn(), window_settings({}));
  responder_.start();
}

void RcEndpoint::to_ready_to_receive(const QpConfig& config) {
  lifecycle_.enter(QpState::kReadyToReceive, config);
  pacer_.start(controller_for(config));
  responder_.start();
}

void RcEndpoint::to_ready_to_send(const QpConfig& config) {
  const bool resumes = state() == QpState::kSqDrained;
  lifecycle_.enter(QpState::kReadyToSend, config);
  requester_.drain(false);
  if (resumes) return retry_.update(config);
  window_.start(config.send_psn, window_settings(config));
  retry_.start(config);
  requester_.start();
  completer_.start();
}

void RcEndpoint::to_send_queue_drained(const QpConfig& config) {
  lifecycle_.enter(QpState::kSqDrained, config);
  requester_.drain(true);
}

void RcEndpoint::update(const QpConfig& config) {
  lifecycle_.update(config);
  responder_.update();
  retry_.update(config);
}

void RcEndpoint::to_error() {
  lifecycle_.enter(QpState::kError);
  retry_.stop();
  requester_.clear_error();
  completer_.clear_error();
}

void RcEndpoint::on_packet(const wire::Packet& packet, Time now) {
  if (!can_receive(state())) return deps_.counters.add(Counter::kWrongState);
  if (packet.info->is_request) return on_request(packet, now);
  if (!can_send(state())) return deps_.counters.add(Counter::kWrongState);
  completer_.on_packet(packet, now);
  fail_if_needed();
}

bool RcEndpoint::on_congestion_notification(Time now) {
  return can_receive(state()) && pacer_.on_cnp(now);
}

void RcEndpoint::on_congestion_parameters(Time now) {
  if (config().congestion != nullptr) pacer_.update(*config().congestion, now);
}

void RcEndpoint::on_request(const wire::Packet& packet, Time now) {
  if (!can_execute()) return deps_.counters.add(Counter::kWrongState);
  lifecycle_.report(QpEvent::kCommunicationEstablished);
  responder_is_next_ = true;
  responder_.on_request(packet, now);
}

bool RcEndpoint::on_run(const wire::Run& run, Time now) {
  if (!can_receive(state())) return false;
  if (!run.whole().info->is_request) return can_send(state()) && completer_.on_run(run, now);
  if (!can_execute()) return false;
  lifecycle_.report(QpEvent::kCommunicationEstablished);
  responder_is_next_ = true;
  return responder_.on_run(run, now);
}

bool RcEndpoint::on_timeout(Time now) {
  if (can_receive(state())) responder_.on_timeout(now);
  pacer_.end_wait();
  if (!can_send(state())) return false;
  const bool is_ack_overdue = completer_.on_timeout(now);
  fail_if_needed();
  return is_ack_overdue;
}

Time RcEndpoint::next_timeout() const {
  if (!can_receive(state())) return kNever;
  const Time response = std::min(responder_.next_timeout(), pacer_.next_departure());
  return can_send(state()) ? std::min(response, retry_.next_timeout()) : response;
}

WrittenPacket RcEndpoint::poll_run(std::span<std::byte> out, std::uint32_t most, Time now) {
  const bool is_usual = config().service == wire::Service::kRc && !pacer_.is_active();
  const auto fit = (out.size() - kMaxPacketHeaderBytes) >> std::countr_zero(bytes(config().path_mtu));
  return poll(out, is_usual ? std::min(most, static_cast<std::uint32_t>(fit)) : 1, now);
}

/// A packet, or with `most` above 1 a run of so many at most; `most` is 0 where the link takes no runs.
WrittenPacket RcEndpoint::poll(std::span<std::byte> out, std::uint32_t most, Time now) {
  if (state() == QpState::kError) {
    flush();
    return {};
  }
  if (!can_receive(state())) return {};
  if (can_send(state())) do_local_work();
  if (state() == QpState::kError) return poll(out, most, now);

  // Responses and requests take turns, so that a long READ of the peer's does not stop our own sending. When
  // the pacer held both, the side whose turn it was keeps its turn.
  WrittenPacket packet = responder_is_next_ ? responder_.poll_transmit(out, most, now) : WrittenPacket{};
  const bool is_response = packet.size > 0;
  if (packet.size == 0 && can_send(state())) {
    packet = requester_.poll_transmit(out, most, now);
    if (packet.size > 0) responder_.on_own_request(now, !requester_.is_inside_data());
  }
  if (packet.size == 0 && !responder_is_next_) packet = responder_.poll_transmit(out, most, now);
  if (packet.size > 0) responder_is_next_ = !is_response;

  fail_if_needed();
  if (!is_draining()) lifecycle_.report(QpEvent::kSqDrained);
  // The peer has been told why; now the connection ends (the flush comes with the next poll).
  if (responder_.has_failed() && !responder_.has_pending_response()) fail();
  return packet.size == 0 && state() == QpState::kError ? poll(out, most, now) : packet;
}

// A failure ends the connection; the work requests after it are flushed.
void RcEndpoint::do_local_work() {
  while (requester_.is_at_local_work()) {
    const CompletionStatus status = requester_.do_local_work();
    completer_.complete_head({.status = status});
    if (status != CompletionStatus::kSuccess) return fail();
  }
}

bool RcEndpoint::is_draining() const {
  return state() == QpState::kSqDrained && (window_.has_outstanding() || window_.has_begun_work());
}

SendProgress RcEndpoint::send_progress() const {
  SendProgress progress{.retries_used = retry_.retries_used(),
                        .rnr_retries_used = retry_.rnr_retries_used(),
                        .waits_for_receiver = retry_.is_waiting_for_receiver(),
                        .retries = retry_.retries(),
                        .rnr_waits = retry_.rnr_waits()};
  if (!can_send(state())) return progress;
  progress.oldest = window_.oldest();
  progress.packets_in_flight = window_.packets_in_flight();
  progress.reads_in_flight = window_.reads_in_flight();
  return progress;
}

void RcEndpoint::flush() {
  completer_.flush(std::exchange(has_failed_, true));
  responder_.flush();
  lifecycle_.report(QpEvent::kLastWqeReached);
}

void RcEndpoint::fail_if_needed() {
  const auto error = completer_.head_error() ? completer_.head_error() : requester_.head_error();
  if (!error || state() == QpState::kError) return;
  completer_.complete_head(*error);
  fail();
}

void RcEndpoint::fail() {
  has_failed_ = true;
  to_error();
}

}  // namespace urnic::transport
