// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The half of UnreliableTraffic that takes completions, and judges what arrives.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "tools/simulation/seeds/traffic/shared_receives.h"
#include "tools/simulation/seeds/traffic/unreliable_traffic.h"

namespace urnic::sim {

using std::chrono::microseconds;
using transport::QpState;

bool UnreliableTraffic::on_completion(HostId host, const transport::Completion& completion) {
  const std::size_t i = member_on(host);
  if (i == members_.size() || members_[i].qp->number() != completion.qp_number) return false;
  scene_.referee.note_progress();
  (completion.wr_id & kReceiveBit) != 0 ? on_receive_completion(i, completion)
                                        : on_send_completion(i, completion);
  settle_when_all_is_sent();
  return true;
}

void UnreliableTraffic::settle_when_all_is_sent() {
  const bool all_sent = std::ranges::all_of(members_, [&](const Member& member) {
    const std::size_t number = static_cast<std::size_t>(&member - members_.data());
    return member.next_message == plan_.messages[number].size() && member.sends.outstanding() == 0;
  });
  if (all_sent && stage_ == Stage::kSending) settle();
}

const UnreliableMessage& UnreliableTraffic::message_of(std::size_t member, std::uint64_t wr_id) const {
  const auto& messages = plan_.messages[member];
  return messages[wr_id - messages.front().id];
}

void UnreliableTraffic::on_send_completion(std::size_t i, const transport::Completion& completion) {
  Member& member = members_[i];
  if (completion.status != transport::CompletionStatus::kSuccess) on_send_error(i, completion);
  std::vector<Ended> ended;
  if (const auto complaint = member.sends.on_completion(completion, ended)) {
    complain(i, "completions", *complaint);
  }
  for (const Ended& end : ended) {
    const UnreliableMessage& message = message_of(i, end.wr_id);
    if (end.how != Ended::How::kSucceeded) {
      unsent_.insert(message.id);
    } else if (message.error != SendError::kNone) {
      complain(i, "completions", fmt::format("message {} succeeded though it cannot be sent", message.id));
    } else {
      scene_.coverage.add(plan_.is_datagram() ? CoverageEvent::kDatagramSent
                                              : CoverageEvent::kUnreliableSent);
    }
    // Nothing is ever sent again from there.
    scene_.host(member.id).memory().write(message.source, Pattern{scene_.random.next()});
  }
}

/// The first that fails has a reason, and the others are flushed after it.
void UnreliableTraffic::on_send_error(std::size_t i, const transport::Completion& completion) {
  using transport::CompletionStatus;
  Member& member = members_[i];
  if (completion.status == CompletionStatus::kWorkRequestFlushed && member.send_queue == SendQueue::kFailed) {
    return scene_.coverage.add(CoverageEvent::kFlushedInSendQueueError);
  }
  static constexpr std::array kReasons = {CompletionStatus::kSuccess, CompletionStatus::kLocalLengthError,
                                          CompletionStatus::kLocalProtectionError};
  const CompletionStatus expected = kReasons[static_cast<std::size_t>(message_of(i, completion.wr_id).error)];
  if (completion.status != expected) {
    return complain(i, "completions",
                    fmt::format("work request {} ended with {} instead of {}", completion.wr_id,
                                name_of(completion.status), name_of(expected)));
  }
  scene_.coverage.add(CoverageEvent::kSendQueueError);
  // In SQD nothing is begun, so nothing can fail.
  if (member.send_queue != SendQueue::kWorking) {
    complain(i, "completions", "a message was begun in SQD or SQE");
  }
  if (member.qp->query().state != QpState::kSqError) {
    complain(i, "completions", "the queue pair is not in SQE");
  }
  member.send_queue = SendQueue::kFailed;
  flow_of(i).on_draining(true);
  schedule(Event::Kind::kQueueStep, i, scene_.random.between(microseconds(1), 10 * scene_.options.post_gap));
}

/// The buffer of the receive that completes, which is not outstanding any more.
std::optional<Range> UnreliableTraffic::take_buffer(std::size_t i, std::uint64_t wr_id) {
  Member& member = members_[i];
  if (is_shared_receive(wr_id) != member.shares_receives) return std::nullopt;
  if (member.shares_receives) return scene_.machine(member.id).shared_receives[0]->buffer_of(wr_id);
  const std::size_t index = wr_id & ~kReceiveBit;
  if (member.posted_buffers.empty() || member.posted_buffers.front() != index) return std::nullopt;
  member.posted_buffers.pop_front();
  return plan_.buffers[i][index];
}

void UnreliableTraffic::give_back_buffer(std::size_t i, std::uint64_t wr_id, const Range& buffer) {
  MemoryModel& memory = scene_.host(members_[i].id).memory();
  memory.settle_as_is(buffer);
  memory.write(buffer, Pattern{scene_.random.next()});
  members_[i].free_buffers.push_back(wr_id & ~kReceiveBit);
  schedule(Event::Kind::kPostReceives, i, scene_.random.between(Duration(0), 2 * scene_.options.receive_gap));
}

void UnreliableTraffic::on_receive_completion(std::size_t i, const transport::Completion& completion) {
  Member& member = members_[i];
  const std::uint64_t wr_id = completion.wr_id;
  const auto buffer = take_buffer(i, wr_id);
  if (!buffer) {
    return complain(i, "completions", fmt::format("receive {:#x} completes, which is not due", wr_id));
  }
  const bool is_flush = completion.status == transport::CompletionStatus::kWorkRequestFlushed;
  if (is_flush ? stage_ < Stage::kFlushing : completion.status != transport::CompletionStatus::kSuccess) {
    complain(i, "completions", fmt::format("receive {:#x}: {}", wr_id, name_of(completion.status)));
  }
  const UnreliableMessage* const message = is_flush ? nullptr : find_sent(i, completion, *buffer);
  if (message != nullptr) {
    judge_arrival(i, *message);
  } else if (!is_flush) {
    complain(i, "completions",
             fmt::format("{} bytes from QP {:#x} were received that no member sent", completion.byte_length,
                         to_integer(completion.source_qp)));
  }
  if (!member.shares_receives) return give_back_buffer(i, wr_id, *buffer);
  std::optional<SharedReceives::Data> data;
  if (message != nullptr) {
    scene_.coverage.add(plan_.is_datagram() ? CoverageEvent::kSharedDatagramReceived
                                            : CoverageEvent::kSharedUnreliableReceived);
    data = {.pattern = Pattern{message->id},
            .length = message->is_write() ? 0 : message->length,
            .front = plan_.is_datagram() ? kGrhBytes : 0};
  }
  complete_shared(scene_, member.id, wr_id, data);
}

const UnreliableMessage* UnreliableTraffic::find_sent(std::size_t receiver,
                                                      const transport::Completion& completion,
                                                      const Range& buffer) {
  const std::size_t sender = sender_of(receiver, completion.source_qp);
  if (sender == members_.size() || completion.has_grh != plan_.is_datagram()) return nullptr;
  if (plan_.is_datagram()) check_grh(receiver, sender, buffer);
  const UnreliableMessage* again = nullptr;
  for (std::size_t i = 0; i < members_[sender].next_message; ++i) {
    const UnreliableMessage& message = plan_.messages[sender][i];
    if (!fits(receiver, sender, message, completion, buffer)) continue;
    // Empty messages all look the same.
    if (arrivals_[message.id * kMaxHosts + receiver] == 0) return &message;
    again = &message;
  }
  return again;
}

bool UnreliableTraffic::fits(std::size_t receiver, std::size_t sender, const UnreliableMessage& message,
                             const transport::Completion& completion, const Range& buffer) const {
  const bool is_for_us =
      message.to == receiver || (message.to == UnreliableMessage::kGroup && receiver != sender);
  if (!is_for_us || !message.consumes_receive() || message.has_wrong_qkey || unsent_.contains(message.id)) {
    return false;
  }
  const std::uint32_t front = plan_.is_datagram() ? kGrhBytes : 0;
  if (completion.byte_length != front + message.length || completion.solicited != message.solicited ||
      completion.has_immediate != message.has_immediate() ||
      (message.has_immediate() && completion.immediate != message.immediate)) {
    return false;
  }
  const auto opcode = message.is_write() ? transport::CompletionOpcode::kReceiveRdmaWithImmediate
                                         : transport::CompletionOpcode::kReceive;
  if (completion.opcode != opcode) return false;
  const Range data =
      message.is_write()
          ? message.target
          : Range{.region = buffer.region, .offset = buffer.offset + front, .length = message.length};
  return first_mismatch(scene_.host(members_[receiver].id).memory().at(data), Pattern{message.id}) ==
         data.length;
}

void UnreliableTraffic::judge_arrival(std::size_t receiver, const UnreliableMessage& message) {
  scene_.coverage.add(plan_.is_datagram() ? CoverageEvent::kDatagramReceived
                                          : CoverageEvent::kUnreliableReceived);
  if (message.to == UnreliableMessage::kGroup) scene_.coverage.add(CoverageEvent::kMulticastReceived);
  if (++arrivals_[message.id * kMaxHosts + receiver] > 1 && !may_arrive_twice()) {
    complain(receiver, "completions", fmt::format("message {} arrives twice", message.id));
  }
  std::uint64_t& newest = newest_[receiver];
  if (!plan_.is_datagram() && keeps_order() && message.length > 0 && message.id < newest) {
    complain(receiver, "completions", fmt::format("message {} arrives after {}", message.id, newest));
  }
  newest = std::max(newest, message.id);
}

/// Fact 42: the GRH, or 20 bytes of nothing and the IPv4 header.
void UnreliableTraffic::check_grh(std::size_t receiver, std::size_t sender, const Range& buffer) {
  const auto bytes = scene_.host(members_[receiver].id).memory().at(buffer).first(kGrhBytes);
  const bool is_ipv6 = scene_.options.ipv6;
  const auto source = gid_of(members_[sender].id, is_ipv6).octets;
  const std::size_t skipped = is_ipv6 ? 0 : 12;  // of an IPv4-mapped GID
  const std::size_t at = is_ipv6 ? 8 : 32;
  const bool is_source =
      std::equal(source.begin() + static_cast<std::ptrdiff_t>(skipped), source.end(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 [](std::uint8_t octet, std::byte byte) { return std::byte{octet} == byte; });
  const std::byte version = bytes[is_ipv6 ? 0 : 20] >> 4;
  if (!is_source || version != std::byte{is_ipv6 ? std::uint8_t{6} : std::uint8_t{4}}) {
    complain(receiver, "memory", "the GRH area does not hold the sender's IP header (fact 42)");
  }
}

}  // namespace urnic::sim
