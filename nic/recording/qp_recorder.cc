// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/recording/qp_recorder.h"

#include "nic/queues/completion_queue.h"

namespace urnic::nic {
namespace {

transport::CompletionSink* sends_of(const QueuePair& qp, QpMonitor* next) {
  return next != nullptr ? &next->sends() : qp.attributes().send_queue;
}

transport::CompletionSink* receives_of(const QueuePair& qp, QpMonitor* next) {
  return next != nullptr ? &next->receives() : qp.attributes().receive_queue;
}

}  // namespace

QpRecorder::QpRecorder(Recorder& recorder, QueuePair& qp, std::unique_ptr<QpMonitor> next)
    : recorder_(recorder),
      qp_(qp),
      next_(std::move(next)),
      sends_(recorder, sends_of(qp, next_.get()), false),
      receives_(recorder, receives_of(qp, next_.get()), true) {}

void QpRecorder::Sink::complete(const transport::Completion& completion) {
  recorder_.on_completed(completion, is_receive_);
  to_->complete(completion);
}

void QpRecorder::on_modified() {
  if (next_ != nullptr) next_->on_modified();
}

void QpRecorder::on_sent(std::span<const std::byte> packet, bool is_reachable, transport::Time now) {
  recorder_.on_sent(qp_, transport::wire::Bth::parse(packet));
  if (next_ != nullptr) next_->on_sent(packet, is_reachable, now);
}

void QpRecorder::on_received(const transport::wire::Packet& packet, transport::Time now) {
  recorder_.on_received(qp_);
  if (next_ != nullptr) next_->on_received(packet, now);
}

void QpRecorder::on_refused(const transport::RefusedRequest& request) {
  recorder_.on_refused(qp_, request);
  if (next_ != nullptr) next_->on_refused(request);
}

void QpRecorder::on_local_fault(const transport::LocalFault& fault) {
  if (next_ != nullptr) next_->on_local_fault(fault);
}

void QpRecorder::on_ack_timeout(std::uint8_t retries_used, transport::Time now) {
  recorder_.on_timeout(qp_, retries_used);
  if (next_ != nullptr) next_->on_ack_timeout(retries_used, now);
}

void QpRecorder::on_no_receive() {
  if (next_ != nullptr) next_->on_no_receive();
}

void QpRecorder::on_error_state() {
  recorder_.on_error_state(qp_);
  if (next_ != nullptr) next_->on_error_state();
}

}  // namespace urnic::nic
