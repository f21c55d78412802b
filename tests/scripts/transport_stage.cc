// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/transport_stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/player/steps.h"
#include "transport/make_endpoint.h"
#include "transport/wire/packet.h"

namespace urnic::scripts {

using transport::Access;
using transport::Completion;
using transport::PdId;
using transport::QpEvent;
using transport::QpNumber;
using transport::QpState;
using transport::to_integer;
using transport::wire::Service;

namespace {

const std::string kTooMuch = fmt::format("more than {} packets and timers", TransportStage::kMostSteps);
constexpr std::uint32_t kSges = 32;

Trouble no_bytes_at(const Place& place, std::size_t length) {
  return script_error(fmt::format("there are no {} bytes at {}+{}", length, place.name, place.offset));
}

transport::SendQueue::Limits send_limits() {
  return {.work_requests = Stage::kQueueDepth, .sges = kSges, .inline_bytes = Stage::kInlineBytes};
}
transport::ReceiveQueue::Limits receive_limits() {
  return {.work_requests = Stage::kQueueDepth, .sges = kSges};
}

}  // namespace

TransportStage::TransportStage(const Settings& settings)
    : Stage(settings), send_queue_(send_limits()), receive_queue_(receive_limits()) {
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

TransportStage::XrcQueue::XrcQueue(TransportStage& stage, std::uint32_t number, PdId pd)
    : queue(receive_limits()),
      sink(stage, number),
      end{.queue = &queue, .completions = &sink, .pd = pd, .is_shared = true} {}

transport::ReceiveQueue* TransportStage::receive_queue(std::optional<std::uint64_t> srq_number) {
  if (!srq_number) return settings_.config.service == Service::kXrc ? nullptr : &receive_queue_;
  const auto found = xrc_queues_.find(static_cast<std::uint32_t>(*srq_number));
  return found == xrc_queues_.end() ? nullptr : &found->second->queue;
}

void TransportStage::note(std::string_view text) {
  add_to_ladder(now_ - transport::Time(std::chrono::seconds(1)), text);
}

std::optional<Trouble> TransportStage::post(const transport::SendRequest& request,
                                            std::span<const transport::Sge> elements, bool is_inline) {
  const QpState state = endpoint_->state();
  if (state == QpState::kReset || state == QpState::kInit || state == QpState::kReadyToReceive) {
    return script_error("nothing can be posted in this state");
  }
  if (send_queue_.is_full()) return script_error("the send queue is full");
  std::uint32_t length = 0;
  for (const transport::Sge& sge : elements) length += sge.length;
  if (is_inline) {
    if (auto trouble = copy_inline(request, elements, length)) return trouble;
  } else {
    send_queue_.prepare(request, elements, length);
  }
  send_queue_.publish();
  return std::nullopt;
}

std::optional<Trouble> TransportStage::copy_inline(const transport::SendRequest& request,
                                                   std::span<const transport::Sge> elements,
                                                   std::uint32_t length) {
  Octets bytes(length);
  std::size_t at = 0;
  for (const transport::Sge& sge : elements) {
    const auto to = std::span(bytes).subspan(at, sge.length);
    if (sge.length > 0 && memory_.read_local(settings_.config.pd, sge.lkey, sge.address, to, nullptr) !=
                              transport::DmaStatus::kOk) {
      return script_error("there is nothing to copy inline");
    }
    at += sge.length;
  }
  const auto place = send_queue_.prepare_inline(request, length);
  std::copy(bytes.begin(), bytes.end(), place.begin());
  return std::nullopt;
}

std::optional<Trouble> TransportStage::receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                               std::span<const transport::Sge> elements) {
  transport::ReceiveQueue* queue = receive_queue(srq);
  if (queue == nullptr) return script_error("there is no such receive queue");
  if (!srq && endpoint_->state() == QpState::kReset) return script_error("nothing can be posted in RESET");
  if (queue->is_full()) return script_error("the receive queue is full");
  std::uint32_t length = 0;
  for (const transport::Sge& sge : elements) length += sge.length;
  queue->prepare({.wr_id = wr_id}, elements, length);
  queue->publish();
  return std::nullopt;
}

std::optional<Trouble> TransportStage::arm_limit(std::optional<std::uint64_t> srq, std::uint32_t limit) {
  transport::ReceiveQueue* queue = receive_queue(srq);
  if (queue == nullptr) return script_error("there is no such receive queue");
  queue->arm_limit(limit, this);
  return std::nullopt;
}

std::optional<Trouble> TransportStage::deregister(const std::string& region) {
  memory_.region(region)->is_registered = false;
  return std::nullopt;
}

std::optional<Trouble> TransportStage::change_rights(const std::string& region, Access rights) {
  memory_.region(region)->access = rights;
  return std::nullopt;
}

std::optional<Trouble> TransportStage::store(const Place& place, std::span<const std::byte> bytes) {
  const auto to = memory_.bytes(place, bytes.size());
  if (!to) return no_bytes_at(place, bytes.size());
  std::copy(bytes.begin(), bytes.end(), to->begin());
  return std::nullopt;
}

Result<Octets, Trouble> TransportStage::load(const Place& place, std::size_t length) {
  const auto from = memory_.bytes(place, length);
  if (!from) return no_bytes_at(place, length);
  return Octets(from->begin(), from->end());
}

std::optional<RemotePlace> TransportStage::window(const std::string& name) {
  const ScriptMemory::Window* window = memory_.window(name);
  if (window == nullptr) return std::nullopt;
  return RemotePlace{window->address, window->key};
}

Result<Stage::Psns, Trouble> TransportStage::psns() {
  return Psns{endpoint_->next_send_psn().value(), endpoint_->next_receive_psn().value()};
}

Result<std::optional<transport::Duration>, Trouble> TransportStage::next_timer() {
  const transport::Time deadline = endpoint_->next_timeout();
  if (deadline == transport::kNever) return std::optional<transport::Duration>();
  return std::optional(deadline - now_);
}

std::optional<Trouble> TransportStage::arrive(const PacketFields& packet,
                                              std::span<const std::byte> network_header) {
  if (!may_go_on()) return script_error(kTooMuch);
  note("< " + describe(packet));
  const Octets bytes = encode(packet);
  auto parsed = transport::wire::parse_packet(bytes);
  if (!parsed) {
    return script_error(
        fmt::format("this packet does not get as far as the queue pair: {}", to_string(parsed.error())));
  }
  parsed.value().network_header = network_header;
  endpoint_->on_packet(parsed.value(), now_);
  return std::nullopt;
}

std::optional<Trouble> TransportStage::drain() {
  // Just as large as promised, so that a sanitizer sees the first byte too many.
  std::vector<std::byte> room(transport::kMaxPacketHeaderBytes + bytes(settings_.config.path_mtu));
  while (may_go_on()) {
    const std::uint32_t address_handle = to_integer(endpoint_->next_destination().address);
    const std::size_t size = endpoint_->poll_transmit(room, now_).size;
    if (size == 0) return std::nullopt;
    if (size > room.size()) {
      return Trouble{fmt::format("a packet of {} bytes, more than the path takes", size)};
    }
    take_packet(std::span(room).first(size), address_handle);
  }
  return Trouble{kTooMuch};
}

std::optional<Trouble> TransportStage::pass(transport::Duration duration) {
  const transport::Time end = now_ + duration;
  while (endpoint_->next_timeout() <= end) {
    if (!may_go_on()) return Trouble{kTooMuch};
    now_ = std::max(now_, endpoint_->next_timeout());
    endpoint_->on_timeout(now_);
    if (auto trouble = drain()) return trouble;
  }
  now_ = end;
  return drain();
}

std::optional<Trouble> TransportStage::modify(QpState to) {
  const QpState from = endpoint_->state();
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
    return script_error(fmt::format("there is no way from {} to {}", name_of(from), name_of(to)));
  }
  return drain();
}

void TransportStage::take_packet(std::span<const std::byte> bytes, std::uint32_t address_handle) {
  Decoded decoded = decode(bytes);
  note("> " + describe(decoded.packet));
  if (decoded.fault.empty()) decoded.fault = fault_of(decoded.packet, settings_.config);
  outputs_.packets.push_back({std::move(decoded.packet), std::move(decoded.fault), address_handle});
}

void TransportStage::on_qp_event(QpNumber, QpEvent event) {
  const std::string name(name_of(event));
  note("event " + name);
  outputs_.events.push_back(name);
}

void TransportStage::on_limit_reached() {
  note("event SRQ_LIMIT_REACHED");
  outputs_.events.emplace_back("SRQ_LIMIT_REACHED");
}

const transport::ReceiveEnd* TransportStage::find(std::uint32_t srq_number) {
  const auto found = xrc_queues_.find(srq_number);
  return found == xrc_queues_.end() ? nullptr : &found->second->end;
}

void TransportStage::SendSink::complete(const Completion& completion) {
  stage_.note(describe(completion, "cqe"));
  stage_.outputs_.send_completions.push_back(completion);
}

void TransportStage::ReceiveSink::complete(const Completion& completion) {
  stage_.note(describe(completion, "rcqe"));
  stage_.outputs_.receive_completions.push_back({completion, srq_});
}

Outcome run_script(const Script& script) {
  const auto settings = read_settings(script);
  if (!settings) return {settings.error(), {}, {}, {}};
  TransportStage stage(settings.value());
  if (!stage.is_set()) {
    const Statement& first = script.statements.front();
    return {
        Failure{first.line, first.text, "there is no endpoint of this service", Trouble::Kind::kScriptError},
        {},
        {},
        {}};
  }
  return play(stage, script);
}

void play_script(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (is_setting(statement.verb)) apply_setting(settings, statement);
  }
  TransportStage stage(settings);
  if (!stage.is_set()) return;
  for (const Statement& statement : script.statements) {
    if (is_action(statement.verb)) act(stage, statement);
    stage.outputs() = {};
    stage.flushes()->clear();
  }
}

}  // namespace urnic::scripts
