// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LiveStage, before the script begins: what the agent makes for it.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/conformance/conform/stage/attributes.h"
#include "tools/conformance/conform/stage/live_stage.h"

namespace urnic::conform {

using scripts::Trouble;
using scripts::unavailable;
using transport::QpState;

namespace {

Trouble no_sense(std::string_view command) {
  return unavailable(fmt::format("the agent's reply to '{}' makes no sense", command));
}

}  // namespace

std::optional<Trouble> LiveStage::set_up(std::uint32_t own_qp, bool reads_counters) {
  if (auto trouble = open_device()) return trouble;
  if (auto trouble = make_memory()) return trouble;
  if (auto trouble = make_shared_queues()) return trouble;
  if (auto trouble = make_queue_pair(own_qp)) return trouble;
  if (reads_counters) {
    if (auto trouble = read_first_counters()) return trouble;
  }
  for (const QpState step : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    if (step > settings().start) break;
    if (auto trouble = modify(step)) return trouble;
  }
  may_be_behind_ = false;
  begin_span(wire_.now());
  return std::nullopt;
}

std::optional<Trouble> LiveStage::open_device() {
  const auto opened = ask(fmt::format("open {} {} {}", peer_.device, peer_.port, peer_.gid));
  if (!opened) return opened.error();
  has_atomics_ = opened.value().number("atomics").value_or(1) != 0;
  port_mtu_ = std::size_t{128} << std::min<std::uint64_t>(opened.value().number("mtu").value_or(0), 5);
  peers_gid_ = read_hex(opened.value().text("gid").value_or("")).value_or(std::vector<std::byte>());
  if (bytes(config().path_mtu) <= port_mtu_) return std::nullopt;
  return unavailable(fmt::format("the path MTU of the peer's port is {} bytes", port_mtu_));
}

// Drivers keep what they have read for a while, which the counter `lifespan` says in milliseconds.
std::optional<Trouble> LiveStage::read_first_counters() {
  const auto before = ask("counters");
  if (!before) return before.error();
  counters_age_ = std::chrono::milliseconds(before.value().number("lifespan").value_or(10) + 2);
  await_counters();
  const auto counters = ask("counters");
  if (!counters) return counters.error();
  for (const std::string& word : counters.value().words) {
    const std::string_view text = word;
    const std::size_t sign = std::min(text.find('='), text.size() - 1);
    const auto number = read_decimal(text.substr(sign + 1));
    if (number) first_counters_[word.substr(0, sign)] = *number;
  }
  return std::nullopt;
}

// --- Memory ---

Result<std::uint64_t, Trouble> LiveStage::find_domain(std::optional<std::uint32_t> pd) {
  const std::uint32_t number = pd.value_or(to_integer(config().pd));
  if (const auto found = domains_.find(number); found != domains_.end()) return found->second;
  if (auto trouble = order("pd")) return *std::move(trouble);
  const std::uint64_t next = domains_.size();
  domains_[number] = next;
  return next;
}

std::optional<Trouble> LiveStage::make_region(const scripts::Settings::Region& region) {
  const auto domain = find_domain(region.pd);
  if (!domain) return domain.error();
  const unsigned rights = verbs_rights_of_memory(region.rights);
  const auto made = ask(fmt::format("mr {} {} {}", domain.value(), region.size, rights));
  if (!made) return made.error();
  const auto number = read_decimal(made.value().first());
  const auto address = made.value().number("address");
  const auto rkey = made.value().number("rkey");
  if (!number || !address || !rkey) return no_sense("mr");
  memory_.add(PeerMemory::Region{region, static_cast<unsigned>(*number), *address,
                                 static_cast<std::uint32_t>(*rkey)});
  return order(fmt::format("fill {} 0 {} {}", *number, region.size, region.address));
}

std::optional<Trouble> LiveStage::make_window(const scripts::Settings::Window& window) {
  const auto made = ask(fmt::format("mw 0 {}", window.type));
  if (!made) return made.error();
  const auto number = read_decimal(made.value().first());
  const auto rkey = made.value().number("rkey");
  if (!number || !rkey) return no_sense("mw");
  const PeerMemory::Window known{
      .name = window.name, .number = static_cast<unsigned>(*number), .key = window.key, .address = 0};
  memory_.add(known, static_cast<std::uint32_t>(*rkey));
  return std::nullopt;
}

std::optional<Trouble> LiveStage::make_memory() {
  if (const auto first = find_domain(std::nullopt); !first) return first.error();
  for (const scripts::Settings::Region& region : settings().regions) {
    if (auto trouble = make_region(region)) return trouble;
  }
  for (const scripts::Settings::Window& window : settings().windows) {
    if (auto trouble = make_window(window)) return trouble;
  }
  return std::nullopt;
}

// --- Queues ---

std::optional<Trouble> LiveStage::make_shared_queue(const scripts::Settings::SharedQueue* of_xrc) {
  const auto domain = find_domain(of_xrc == nullptr ? std::nullopt : of_xrc->pd);
  if (!domain) return domain.error();
  const std::string command = of_xrc == nullptr ? "srq" : "xrc-srq";
  const auto made = ask(fmt::format("{} {} {}", command, domain.value(), kQueueDepth));
  if (!made) return made.error();
  const auto number = read_decimal(made.value().first());
  const auto on_the_wire = made.value().number("srqn");
  if (!number || (of_xrc != nullptr && !on_the_wire)) return no_sense(command);
  SharedQueue queue{.script = {}, .number = *number, .on_the_wire = 0};
  if (of_xrc != nullptr) {
    queue.script = of_xrc->number;
    queue.on_the_wire = static_cast<std::uint32_t>(*on_the_wire);
    completion_queues_.push_back(
        {.poll = fmt::format("srq-poll {}", *number), .is_send = false, .srq = of_xrc->number});
  }
  shared_queues_.push_back(queue);
  return std::nullopt;
}

std::optional<Trouble> LiveStage::make_shared_queues() {
  if (settings().shares_receives) return make_shared_queue(nullptr);
  for (const scripts::Settings::SharedQueue& queue : settings().xrc_queues) {
    if (auto trouble = make_shared_queue(&queue)) return trouble;
  }
  return std::nullopt;
}

std::optional<Trouble> LiveStage::make_queue_pair(std::uint32_t own_qp) {
  const std::string shared =
      settings().shares_receives ? fmt::format(" srq={}", shared_queues_.front().number) : "";
  const auto made = ask(fmt::format("qp {} 0 {}{}", name_of(kind_), kQueueDepth, shared));
  if (!made) return made.error();
  const auto qpn = made.value().number("qpn");
  if (!qpn) return no_sense("qp");
  const bool is_xrc = kind_ == QueuePairKind::kXrcTarget || kind_ == QueuePairKind::kXrcInitiator;
  if (kind_ != QueuePairKind::kXrcTarget) {
    completion_queues_.push_back({.poll = "poll 0 send", .is_send = true, .srq = {}});
  }
  if (!is_xrc) completion_queues_.push_back({.poll = "poll 0 recv", .is_send = false, .srq = {}});
  const std::uint32_t scripts_qp = to_integer(config().local_qp);
  settings_.config.local_qp = transport::QpNumber{static_cast<std::uint32_t>(*qpn)};
  told_ = config();
  if (kind_ == QueuePairKind::kUd) {
    datagrams_.emplace(own_qp, static_cast<std::uint32_t>(*qpn), scripts_qp);
    return std::nullopt;
  }
  settings_.config.remote_qp = transport::QpNumber{own_qp};
  const auto gid = std::as_bytes(std::span(peer_.tester.octets));
  return order(fmt::format("connect 0 {} {}", own_qp, to_hex(gid.data(), gid.size())));
}

}  // namespace urnic::conform
