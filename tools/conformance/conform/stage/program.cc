// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LiveStage: what the script's program does. The agent does it.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tools/conformance/conform/agent/verbs_numbers.h"
#include "tools/conformance/conform/stage/attributes.h"
#include "tools/conformance/conform/stage/live_stage.h"
#include "transport/enum_names.h"

namespace urnic::conform {

using scripts::Place;
using scripts::Trouble;
using scripts::unavailable;
using transport::Access;
using transport::QpState;

std::optional<Trouble> LiveStage::post(const transport::SendRequest& request,
                                       std::span<const transport::Sge> elements, bool is_inline) {
  if (request.operation == transport::SendOperation::kBindWindow) return bind(request);
  const std::string_view name = operation_name(request.operation);
  if (name.empty()) {
    return unavailable(fmt::format("the agent cannot post {}", name_of(request.operation)));
  }
  const auto sges = memory_.elements_text(elements);
  if (!sges) return unavailable("the agent cannot post such an element");
  std::string line =
      fmt::format("post 0 {} {} {}{}", name, request.wr_id, send_flags(request, is_inline), *sges);
  line += fmt::format(" va={} rkey={}", request.remote_address, to_integer(request.rkey));
  if (is_atomic(request.operation)) {
    const bool is_add = request.operation == transport::SendOperation::kFetchAdd;
    line += fmt::format(" compare-add={} swap={}", is_add ? request.swap_or_add : request.compare,
                        is_add ? 0 : request.swap_or_add);
  }
  const std::uint32_t key = to_integer(request.invalidate_rkey);
  const bool is_own = request.operation == transport::SendOperation::kLocalInvalidate;
  line += fmt::format(" imm={} inv={}", ntohl(request.immediate), is_own ? memory_.peers_key(key) : key);
  if (kind_ == QueuePairKind::kXrcInitiator) line += fmt::format(" srqn={}", request.xrc_srq);
  if (kind_ == QueuePairKind::kUd) {
    const auto destination = destination_text(request, elements);
    if (!destination) return destination.error();
    line += destination.value();
  }
  begin_span(wire_.now());
  may_be_behind_ = true;
  return order(line);
}

Result<std::string, Trouble> LiveStage::destination_text(const transport::SendRequest& request,
                                                         std::span<const transport::Sge> elements) {
  std::uint64_t length = 0;
  for (const transport::Sge& sge : elements) length += sge.length;
  // A datagram queue pair has no path MTU of its own.
  if (length > bytes(config().path_mtu) && length <= port_mtu_) {
    return unavailable(fmt::format("the peer's port takes datagrams of {} bytes", port_mtu_));
  }
  const std::uint32_t handle = to_integer(request.destination.address);
  if (!address_handles_.contains(handle)) {
    const auto gid = std::as_bytes(std::span(peer_.tester.octets));
    if (auto trouble = order(fmt::format("ah 0 {}", to_hex(gid.data(), gid.size())))) {
      return *std::move(trouble);
    }
    const std::uint64_t next = address_handles_.size();
    address_handles_[handle] = next;
  }
  const auto qp = datagrams_->destination(to_integer(request.destination.qp));
  if (!qp) return unavailable("the script has too many destinations");
  return fmt::format(" ah={} dst={} qkey={}", address_handles_[handle], *qp, request.destination.qkey);
}

std::optional<Trouble> LiveStage::bind(const transport::SendRequest& request) {
  constexpr unsigned kZeroBased = 1u << 5;  // IBV_ACCESS_ZERO_BASED
  const transport::WindowBinding& binding = request.binding;
  const PeerMemory::Window* window = memory_.window_of_key(to_integer(binding.window));
  if (window == nullptr) return scripts::script_error("no window has this key");
  const PeerMemory::Region* region = memory_.of_key(to_integer(binding.region));
  // The agent wants a region for a window that is closed, too, and any will do.
  const unsigned number = region == nullptr ? 0 : region->number;
  const std::uint64_t offset = region == nullptr ? 0 : binding.address - region->script.address;
  const unsigned rights =
      verbs_rights_of_queue_pair(binding.access) | (binding.is_zero_based ? kZeroBased : 0u);
  begin_span(wire_.now());
  may_be_behind_ = true;
  const auto bound = ask(fmt::format("bind 0 {} {} {} {} {} {} {}", window->number, request.wr_id,
                                     send_flags(request, false), number, offset, binding.length, rights));
  if (!bound) return bound.error();
  const auto rkey = bound.value().number("rkey");
  if (!rkey) return unavailable("the agent's reply to 'bind' makes no sense");
  memory_.bind(binding, static_cast<std::uint32_t>(*rkey));
  return std::nullopt;
}

std::optional<scripts::RemotePlace> LiveStage::window(const std::string& name) {
  const PeerMemory::Window* window = memory_.window_named(name);
  if (window == nullptr) return std::nullopt;
  return scripts::RemotePlace{window->address, window->key};
}

const LiveStage::SharedQueue* LiveStage::shared_queue(std::optional<std::uint64_t> script_number) const {
  const auto found = std::find_if(shared_queues_.begin(), shared_queues_.end(),
                                  [&](const SharedQueue& queue) { return queue.script == script_number; });
  return found == shared_queues_.end() ? nullptr : &*found;
}

std::uint32_t LiveStage::queue_on_the_wire(std::uint32_t script_number) const {
  constexpr std::uint32_t kMask = 0xffffff;
  if (const SharedQueue* queue = shared_queue(script_number)) return queue->on_the_wire;
  const auto is_taken = [&](std::uint32_t number) {
    return std::any_of(shared_queues_.begin(), shared_queues_.end(),
                       [&](const SharedQueue& queue) { return queue.on_the_wire == number; });
  };
  std::uint32_t number = ~script_number & kMask;
  while (is_taken(number)) number = (number + 1) & kMask;
  return number;
}

std::optional<Trouble> LiveStage::receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                          std::span<const transport::Sge> elements) {
  const SharedQueue* queue = shared_queue(srq);
  const bool has_own = kind_ != QueuePairKind::kXrcTarget && kind_ != QueuePairKind::kXrcInitiator;
  if (queue == nullptr && (srq || !has_own)) return scripts::script_error("there is no such receive queue");
  const auto sges = memory_.elements_text(elements);
  if (!sges) return unavailable("the agent cannot post such an element");
  if (queue != nullptr) return order(fmt::format("srq-recv {} {}{}", queue->number, wr_id, *sges));
  return order(fmt::format("recv 0 {}{}", wr_id, *sges));
}

std::optional<Trouble> LiveStage::arm_limit(std::optional<std::uint64_t> srq, std::uint32_t limit) {
  const SharedQueue* queue = shared_queue(srq);
  if (queue == nullptr) return scripts::script_error("there is no such shared queue");
  return order(fmt::format("arm {} {}", queue->number, limit));
}

std::optional<Trouble> LiveStage::modify(QpState to) {
  const std::string attributes = attributes_of_step(kind_, state_, to, told_, config(), pace_);
  begin_span(wire_.now());
  if (auto trouble = order(fmt::format("modify 0 {}{}", name_of(to), attributes))) return trouble;
  may_be_behind_ = true;
  state_ = to;
  told_ = config();
  return std::nullopt;
}

std::optional<Trouble> LiveStage::deregister(const std::string& region) {
  return order(fmt::format("dereg {}", memory_.named(region)->number));
}

std::optional<Trouble> LiveStage::change_rights(const std::string& region, Access rights) {
  const unsigned number = memory_.named(region)->number;
  const auto changed = ask(fmt::format("rights {} {}", number, verbs_rights_of_memory(rights)));
  if (!changed) return changed.error();
  const auto rkey = changed.value().number("rkey");
  if (!rkey) return unavailable("the agent's reply to 'rights' makes no sense");
  memory_.change_key(region, static_cast<std::uint32_t>(*rkey));
  return std::nullopt;
}

std::optional<Trouble> LiveStage::store(const Place& place, std::span<const std::byte> bytes) {
  const PeerMemory::Region* region = memory_.named(place.name);
  if (region == nullptr) return scripts::script_error(fmt::format("there is no memory '{}'", place.name));
  for (std::size_t at = 0; at < bytes.size(); at += kMostMem) {
    const auto piece = bytes.subspan(at, std::min(kMostMem, bytes.size() - at));
    const std::string digits = to_hex(piece.data(), piece.size());
    if (auto trouble = order(fmt::format("store {} {} {}", region->number, place.offset + at, digits))) {
      return trouble;
    }
  }
  return std::nullopt;
}

}  // namespace urnic::conform
