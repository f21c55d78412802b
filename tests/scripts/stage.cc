// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/stage.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "transport/make_endpoint.h"
#include "transport/wire/packet.h"

namespace urnic::scripts {

using transport::Access;
using transport::Completion;
using transport::CompletionStatus;
using transport::PdId;
using transport::Psn;
using transport::QpEvent;
using transport::QpNumber;
using transport::QpState;
using transport::to_integer;
using transport::wire::Service;

namespace {

const std::string kTooMuch = fmt::format("more than {} packets and timers", Stage::kMostSteps);
constexpr std::size_t kMostLadderLines = 200;
constexpr std::uint32_t kSges = 32;

constexpr Access kEverything = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic |
                               Access::kFlushGlobal | Access::kFlushPersistent;

transport::SendQueue::Limits send_limits() {
  return {.work_requests = Stage::kQueueDepth, .sges = kSges, .inline_bytes = Stage::kInlineBytes};
}
transport::ReceiveQueue::Limits receive_limits() {
  return {.work_requests = Stage::kQueueDepth, .sges = kSges};
}

}  // namespace

Settings::Settings() {
  config.local_qp = QpNumber{0x11};
  config.remote_qp = QpNumber{0x22};
  config.pd = PdId{7};
  config.access = kEverything;
  config.receive_psn = Psn(100);
  config.send_psn = Psn(200);
  config.max_responder_resources = 4;
  config.max_reads_in_flight = 4;
  config.min_rnr_timer = 12;
  config.qkey = 0x1111;
  regions = {
      {"local", 0x100000, 0x20000, 0x1001, Access::kLocalWrite, {}},
      {"shared", 0x200000, 0x20000, 0x2001, Access::kLocalWrite | Access::kWindowBind | kEverything, {}},
      {"buffers", 0x300000, 0x20000, 0x3001, Access::kLocalWrite, {}},
  };
}

Stage::Stage(const Settings& settings)
    : settings_(settings), send_queue_(send_limits()), receive_queue_(receive_limits()) {
  const transport::QpConfig& config = settings_.config;
  for (const Settings::Region& region : settings_.regions) {
    const PdId pd = region.pd ? PdId{*region.pd} : config.pd;
    memory_.add_region(region.name, region.address, region.size, region.key, pd, region.rights);
  }
  for (const Settings::Window& window : settings_.windows) {
    memory_.add_window(window.name, {.key = window.key, .type = window.type, .pd = config.pd});
  }
  for (const Settings::SharedQueue& queue : settings_.xrc_queues) {
    const PdId pd = queue.pd ? PdId{*queue.pd} : config.pd;
    xrc_queues_[queue.number] = std::make_unique<XrcQueue>(*this, queue.number, pd);
  }
  const bool is_xrc = config.service == Service::kXrc;
  const transport::ReceiveEnd own{.queue = &receive_queue_,
                                  .completions = &receive_sink_,
                                  .pd = config.pd,
                                  .is_shared = settings_.shares_receives};
  endpoint_ = transport::make_endpoint(
      config.service, {.dma = memory_,
                       .send_queue = send_queue_,
                       .send_completions = is_xrc && settings_.is_xrc_target ? nullptr : &send_sink_,
                       .receiver = is_xrc ? transport::ReceiveEnd{} : own,
                       .events = *this,
                       .counters = counters_,
                       .xrc_receivers = is_xrc && settings_.is_xrc_target ? this : nullptr});
  if (!endpoint_ || settings_.start == QpState::kReset) return;
  endpoint_->to_init(config);
  if (settings_.start == QpState::kInit) return;
  endpoint_->to_ready_to_receive(config);
  if (settings_.start == QpState::kReadyToSend) endpoint_->to_ready_to_send(config);
}

Stage::XrcQueue::XrcQueue(Stage& stage, std::uint32_t number, PdId pd)
    : queue(receive_limits()),
      sink(stage, number),
      end{.queue = &queue, .completions = &sink, .pd = pd, .is_shared = true} {}

transport::ReceiveQueue* Stage::receive_queue(std::optional<std::uint64_t> srq_number) {
  if (!srq_number) return settings_.config.service == Service::kXrc ? nullptr : &receive_queue_;
  const auto found = xrc_queues_.find(static_cast<std::uint32_t>(*srq_number));
  return found == xrc_queues_.end() ? nullptr : &found->second->queue;
}

void Stage::note(std::string_view text) {
  const auto nanoseconds = (now_ - transport::Time(std::chrono::seconds(1))).count();
  ladder_.push_back(
      fmt::format("{:>14} us  {}", fmt::format("{:.3f}", static_cast<double>(nanoseconds) / 1000), text));
  if (ladder_.size() > kMostLadderLines) ladder_.pop_front();
}

std::optional<std::string> Stage::arrive(const PacketFields& packet,
                                         std::span<const std::byte> network_header) {
  if (!may_go_on()) return kTooMuch;
  note("< " + describe(packet));
  const Octets bytes = encode(packet);
  auto parsed = transport::wire::parse_packet(bytes);
  if (!parsed) {
    return fmt::format("this packet does not get as far as the queue pair: {}", to_string(parsed.error()));
  }
  parsed.value().network_header = network_header;
  endpoint_->on_packet(parsed.value(), now_);
  return std::nullopt;
}

std::optional<std::string> Stage::drain() {
  // Just as large as promised, so that a sanitizer sees the first byte too many.
  std::vector<std::byte> room(transport::kMaxPacketHeaderBytes + bytes(settings_.config.path_mtu));
  while (may_go_on()) {
    const std::uint32_t address_handle = to_integer(endpoint_->next_destination().address);
    const std::size_t size = endpoint_->poll_transmit(room, now_).size;
    if (size == 0) return std::nullopt;
    if (size > room.size()) return fmt::format("a packet of {} bytes, more than the path takes", size);
    take_packet(std::span(room).first(size), address_handle);
  }
  return kTooMuch;
}

std::optional<std::string> Stage::pass(transport::Duration duration) {
  const transport::Time end = now_ + duration;
  while (endpoint_->next_timeout() <= end) {
    if (!may_go_on()) return kTooMuch;
    now_ = std::max(now_, endpoint_->next_timeout());
    endpoint_->on_timeout(now_);
    if (auto wrong = drain()) return wrong;
  }
  now_ = end;
  return drain();
}

std::optional<std::string> Stage::modify(QpState to) {
  const QpState from = endpoint_->state();
  note(fmt::format("modify {}", name_of(to)));
  if (to == QpState::kReset) {
    endpoint_->reset();
  } else if (to == QpState::kError && from != QpState::kReset) {
    endpoint_->to_error();
  } else if (to == QpState::kInit && from == QpState::kReset) {
    endpoint_->to_init(settings_.config);
  } else if (to == QpState::kReadyToReceive && from == QpState::kInit) {
    endpoint_->to_ready_to_receive(settings_.config);
  } else if (to == from && (to == QpState::kReadyToSend || to == QpState::kSqDrained)) {
    endpoint_->update(settings_.config);
  } else if (to == QpState::kReadyToSend &&
             (from == QpState::kReadyToReceive || from == QpState::kSqDrained || from == QpState::kSqError)) {
    endpoint_->to_ready_to_send(settings_.config);
  } else if (to == QpState::kSqDrained && from == QpState::kReadyToSend) {
    endpoint_->to_send_queue_drained(settings_.config);
  } else {
    return fmt::format("there is no way from {} to {}", name_of(from), name_of(to));
  }
  return drain();
}

void Stage::take_packet(std::span<const std::byte> bytes, std::uint32_t address_handle) {
  Decoded decoded = decode(bytes);
  note("> " + describe(decoded.packet));
  if (decoded.fault.empty()) decoded.fault = find_fault(decoded.packet);
  outputs_.packets.push_back({std::move(decoded.packet), std::move(decoded.fault), address_handle});
}

/// What holds of every packet that we send.
std::string Stage::find_fault(const PacketFields& packet) const {
  const transport::QpConfig& config = settings_.config;
  const std::size_t mtu = bytes(config.path_mtu);
  const std::string_view name = packet.name();
  const bool is_last = name.find("_LAST") != name.npos || name.find("_ONLY") != name.npos;
  const bool consumes_receive = name.substr(0, 5) == "SEND_" || name.find("_IMM") != name.npos;
  if (static_cast<unsigned>(packet.service) << 5 != static_cast<unsigned>(config.service)) {
    return "of another service";
  }
  if (packet.pkey != 0xffff) return "P_Key is not 0xffff (fact 14)";
  if (packet.tver != 0) return "TVer is not 0 (fact 14)";
  if (packet.mig != 1) return "MigReq is not 1 (fact 15)";
  if (packet.becn != 0 || packet.fecn != 0) return "marked as congested";
  if (packet.service != WireService::kUd && packet.dst != to_integer(config.remote_qp)) {
    return "to another queue pair";
  }
  if (packet.payload.size() > mtu) return "longer than the path MTU (fact 29)";
  if (fills_the_path(packet) && packet.payload.size() != mtu) return "shorter than the path MTU (fact 29)";
  if (name.find("_LAST") != name.npos && packet.payload.empty()) {
    return "a last packet without payload (fact 29)";
  }
  if (packet.se != 0 && !(is_last && consumes_receive)) {
    return "solicited where nothing is received (fact 17)";
  }
  return {};
}

void Stage::on_qp_event(QpNumber, QpEvent event) {
  const std::string name(name_of(event));
  note("event " + name);
  outputs_.events.push_back(name);
}

void Stage::on_limit_reached() {
  note("event SRQ_LIMIT_REACHED");
  outputs_.events.emplace_back("SRQ_LIMIT_REACHED");
}

const transport::ReceiveEnd* Stage::find(std::uint32_t srq_number) {
  const auto found = xrc_queues_.find(srq_number);
  return found == xrc_queues_.end() ? nullptr : &found->second->end;
}

void Stage::SendSink::complete(const Completion& completion) {
  stage_.note(describe(completion, "cqe"));
  stage_.outputs_.send_completions.push_back(completion);
}

void Stage::ReceiveSink::complete(const Completion& completion) {
  stage_.note(describe(completion, "rcqe"));
  stage_.outputs_.receive_completions.push_back({completion, srq_});
}

std::string describe(const Completion& completion, std::string_view word) {
  std::string text = fmt::format("{} id={} status={}", word, completion.wr_id, name_of(completion.status));
  if (completion.status != CompletionStatus::kSuccess) return text;
  text += fmt::format(" opcode={} len={}", name_of(completion.opcode), completion.byte_length);
  if (completion.has_immediate) text += fmt::format(" imm={:#x}", ntohl(completion.immediate));
  if (completion.has_invalidate) text += fmt::format(" inv={:#x}", to_integer(completion.invalidated_rkey));
  if (completion.has_grh) text += " has-grh";
  if (completion.solicited) text += " solicited";
  return text;
}

}  // namespace urnic::scripts
