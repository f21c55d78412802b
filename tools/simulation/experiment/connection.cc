// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/connection.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

namespace urnic::experiment {

using transport::SendOperation;

namespace {

constexpr std::size_t kMaxElements = 16;

/// Only the last message of a step tells the receiver, unless all do.
SendOperation verb_of(const Step& step, bool is_last) {
  switch (step.operation) {
    case Operation::kWrite:
      return is_last ? SendOperation::kWriteWithImmediate : SendOperation::kWrite;
    case Operation::kSend:
      return is_last ? SendOperation::kSendWithImmediate : SendOperation::kSend;
    case Operation::kRead:
      return SendOperation::kRead;
    case Operation::kWriteWithImmediate:
    case Operation::kCompute:
      break;
  }
  return SendOperation::kWriteWithImmediate;
}

}  // namespace

Connection::Connection(const Workload& workload, const Ends& ends, Machine& machine, Machine& peer)
    : workload_(workload), ends_(ends), machine_(machine), peer_(peer) {
  requester_ = machine.create_queue_pair(
      {.max_send_wr = ends.sends, .max_receive_wr = 1, .max_send_sge = kMaxElements, .max_receive_sge = 1});
  responder_ = peer.create_queue_pair(
      {.max_send_wr = 1, .max_receive_wr = 2 * ends.sends, .max_send_sge = 1, .max_receive_sge = 1});
  machine.connect(*requester_, peer, responder_->number(), ends.dscp);
  peer.connect(*responder_, machine, requester_->number(), ends.dscp);
  for (std::uint32_t i = 0; i < 2 * ends.sends; ++i) replace_receive();
}

Connection::~Connection() {
  machine_.destroy(std::move(requester_));
  peer_.destroy(std::move(responder_));
}

void Connection::add(std::size_t step) {
  waiting_.push_back({.step = step, .bytes_left = workload_.steps[step].bytes});
  post();
}

void Connection::post() {
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    const Step& step = workload_.steps[next.step];
    const Job& job = workload_.jobs[step.job];
    if (in_flight_.size() >= job.messages_posted) return;
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(next.bytes_left, job.message_bytes));
    next.bytes_left -= bytes;
    const Completed message{.step = next.step, .bytes = bytes, .is_last = next.bytes_left == 0};
    if (message.is_last) waiting_.pop_front();
    post_message(step, message);
  }
}

void Connection::post_message(const Step& step, Completed message) {
  const std::uint32_t elements = std::min(workload_.jobs[step.job].elements, message.bytes);
  std::array<transport::Sge, kMaxElements> list{};
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < elements; ++i) {
    const std::uint32_t end = static_cast<std::uint32_t>(std::uint64_t{message.bytes} * (i + 1) / elements);
    list[i] = {.address = machine_.region().address + done,
               .length = end - done,
               .lkey = transport::Lkey{machine_.region().key}};
    done = end;
  }
  const transport::SendRequest request{
      .wr_id = message.step,
      .operation = verb_of(step, message.is_last),
      .signaled = true,
      .immediate =
          Notice{.step = static_cast<std::uint32_t>(message.step), .is_last = message.is_last}.to_immediate(),
      .remote_address = peer_.region().address,
      .rkey = transport::Rkey{peer_.region().key}};
  const auto posted = nic::QueuePair::SendBatch(*requester_).post(request, std::span(list).first(elements));
  if (posted != nic::PostStatus::kPosted) throw std::runtime_error("the simulated NIC takes no work request");
  in_flight_.push_back(message);
}

Connection::Completed Connection::on_complete() {
  const Completed message = in_flight_.front();
  in_flight_.pop_front();
  completed_bytes_ += message.bytes;
  const std::uint32_t mtu = transport::bytes(workload_.path_mtu);
  completed_packets_ += (message.bytes + mtu - 1) / mtu;
  post();
  return message;
}

std::uint64_t Connection::acknowledged_bytes(const nic::QueuePairSnapshot& requester) const {
  const std::int32_t packets = distance(transport::Psn(completed_packets_), requester.progress.oldest);
  if (in_flight_.empty() || packets <= 0) return completed_bytes_;
  const std::uint64_t bytes = static_cast<std::uint64_t>(packets) * transport::bytes(workload_.path_mtu);
  return completed_bytes_ + std::min<std::uint64_t>(bytes, in_flight_.front().bytes);
}

void Connection::replace_receive() {
  const std::array element{transport::Sge{.address = peer_.region().address,
                                          .length = static_cast<std::uint32_t>(peer_.region().length),
                                          .lkey = transport::Lkey{peer_.region().key}}};
  const auto posted = nic::QueuePair::ReceiveBatch(*responder_).post({}, element);
  if (posted != nic::PostStatus::kPosted) throw std::runtime_error("the simulated NIC takes no receive");
}

}  // namespace urnic::experiment
