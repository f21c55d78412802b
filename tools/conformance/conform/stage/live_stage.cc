// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/live_stage.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/conform/agent/verbs_numbers.h"
#include "transport/enum_names.h"

namespace urnic::conform {

using scripts::Octets;
using scripts::Place;
using scripts::Trouble;
using scripts::unavailable;
using transport::Duration;
using transport::QpState;
using transport::Time;

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 20;
constexpr Duration kLongestCase = 60s;
/// A driver may be late with what it says of counters.
constexpr Duration kCountersPatience = 1s;

/// Whether `psn` stands before `other`.
bool is_before(std::uint32_t psn, std::uint32_t other) {
  return distance(transport::Psn(psn), transport::Psn(other)) > 0;
}

/// Whether a packet says that all before it came.
bool acknowledges(std::string_view name) {
  return name == "ACK" || name == "ATOMIC_ACK" || name.starts_with("READ_RESPONSE");
}

/// NICs differ in MigReq, and no peer minds (fact 15).
scripts::PacketFields with_either_mig(scripts::PacketFields packet) {
  packet.mig = 1;
  return packet;
}

}  // namespace

LiveStage::LiveStage(const scripts::Settings& settings, const Pace& pace, const Peer& peer, Agent& agent,
                     Wire& wire)
    : Stage(settings),
      pace_(pace),
      peer_(peer),
      agent_(agent),
      wire_(wire),
      kind_(kind_of(settings)),
      start_(wire.now()) {
  begin_span(start_);
}

Result<std::unique_ptr<LiveStage>, Trouble> LiveStage::create(const scripts::Settings& settings,
                                                              const Pace& pace, const Peer& peer,
                                                              std::uint32_t own_qp, bool reads_counters,
                                                              Agent& agent, Wire& wire) {
  std::unique_ptr<LiveStage> stage(new LiveStage(settings, pace, peer, agent, wire));
  if (auto trouble = stage->set_up(own_qp, reads_counters)) return *std::move(trouble);
  return stage;
}

// --- The agent ---

Result<AgentReply, Trouble> LiveStage::ask(const std::string& line) {
  wire_.flush();
  if (lost_agent_) return unavailable(lost_agent_->message);
  if (wire_.now() - start_ > kLongestCase) return unavailable("the case hangs: it takes more than a minute");
  auto reply = agent_.ask(line);
  if (!reply) {
    lost_agent_ = reply.error();
    return unavailable(reply.error().message);
  }
  if (reply.value().is_ok) return std::move(reply.value());
  const std::string command = line.substr(0, line.find(' '));
  return unavailable(fmt::format("the agent cannot {}: {}", command, reply.value().error));
}

std::optional<AgentError> LiveStage::find_lost_agent() {
  if (lost_agent_) return lost_agent_;
  const auto reply = agent_.ask("events");
  if (!reply) lost_agent_ = reply.error();
  return lost_agent_;
}

std::optional<Trouble> LiveStage::order(const std::string& line) {
  const auto reply = ask(line);
  if (!reply) return reply.error();
  return std::nullopt;
}

// --- Times ---

void LiveStage::note(std::string_view text) {
  add_to_ladder(wire_.now() - start_, text);
}

void LiveStage::begin_span(Time at) {
  span_begin_ = at;
  passed_ = Duration(0);
  beginnings_.push_back({at, script_time_});
}

// The script does not say what began the timer that it waits for: it is early if it is for all of them.
bool LiveStage::comes_too_early(Time at) const {
  return passed_ > Duration(0) &&
         std::all_of(beginnings_.begin(), beginnings_.end(), [&](const Beginning& beginning) {
           return is_too_early(at - beginning.at, script_time_ - beginning.script_time);
         });
}

Time LiveStage::last_moment() {
  return std::max(wire_.now(), span_begin_ + passed_) + patience_for(passed_);
}

scripts::Stage::Awaited LiveStage::came(Time at) {
  begin_span(at);
  may_be_behind_ = false;
  return Awaited::kCame;
}

std::optional<Trouble> LiveStage::pass(Duration duration) {
  passed_ += pace_.wait(duration);
  script_time_ += pace_.wait(duration);
  take_packets(span_begin_ + passed_, false);
  return std::nullopt;
}

// --- What the peer does ---

std::optional<Trouble> LiveStage::arrive(const scripts::PacketFields& packet, std::span<const std::byte>) {
  const bool is_atomic = packet.name() == "CMP_SWAP" || packet.name() == "FETCH_ADD";
  if (is_atomic && !has_atomics_) return unavailable("the peer's NIC has no atomics");
  note("< " + describe(packet));
  scripts::PacketFields translated = memory_.as_peer_has_it(packet);
  if (packet.name() == "RNR_NAK") {
    const auto code = static_cast<std::uint8_t>(packet.syn & 0x1f);
    set_packet_number(translated, "syn", (packet.syn & 0xe0) | pace_.rnr_code(code));
  }
  // An initiator has no queue that a packet could name.
  if (kind_ == QueuePairKind::kXrcTarget && packet_number(packet, "srq")) {
    set_packet_number(translated, "srq", queue_on_the_wire(static_cast<std::uint32_t>(packet.srq)));
  }
  begin_span(wire_.now());
  may_be_behind_ = true;
  if (!wire_.send(encode(translated))) {
    return unavailable("the port takes no packet, or no NIC has the peer's address");
  }
  return std::nullopt;
}

std::optional<Trouble> LiveStage::drain() {
  wire_.flush();
  return std::nullopt;
}

void LiveStage::take_packets(Time until, bool stops_at_first) {
  while (!stops_at_first || outputs_.packets.empty()) {
    auto arrival = wire_.receive(until);
    if (!arrival) return;
    scripts::Decoded decoded = scripts::decode(arrival->ib);
    if (datagrams_) decoded.packet = datagrams_->as_script_has_it(std::move(decoded.packet));
    const std::uint8_t timer = config().min_rnr_timer;
    const bool has_our_timer = (decoded.packet.syn & 0x1f) == pace_.rnr_code(timer);
    if (decoded.packet.name() == "RNR_NAK" && has_our_timer) decoded.packet.syn = 0x20u | timer;
    note("> " + describe(decoded.packet));
    if (decoded.fault.empty()) decoded.fault = fault_of(with_either_mig(decoded.packet), config());
    if (decoded.fault.empty()) decoded.fault = std::move(arrival->fault);
    outputs_.packets.push_back(
        {.fields = std::move(decoded.packet), .fault = std::move(decoded.fault), .at = arrival->at});
  }
}

bool LiveStage::take_completion(const CompletionQueue& queue, unsigned milliseconds) {
  const auto reply = ask(fmt::format("{} {}", queue.poll, milliseconds));
  if (!reply) return false;
  if (reply.value().words.empty()) return false;
  const std::string_view word = queue.is_send ? "cqe" : "rcqe";
  auto completion = read_completion(reply.value());
  if (!completion) {
    strange_completion_ =
        fmt::format("{} {}, which no script knows", word, fmt::join(reply.value().words, " "));
    note(*strange_completion_);
    return true;
  }
  completion->invalidated_rkey =
      transport::Rkey{memory_.scripts_key(to_integer(completion->invalidated_rkey))};
  note(scripts::describe(*completion, word));
  if (queue.is_send) {
    outputs_.send_completions.push_back(*completion);
  } else {
    outputs_.receive_completions.push_back({*completion, queue.srq});
  }
  return true;
}

bool LiveStage::take_completions(bool is_send, unsigned milliseconds) {
  const auto is_meant = [&](const CompletionQueue& queue) { return queue.is_send == is_send; };
  const auto count = std::count_if(completion_queues_.begin(), completion_queues_.end(), is_meant);
  bool has_more = false;
  for (const CompletionQueue& queue : completion_queues_) {
    if (!is_meant(queue)) continue;
    if (take_completion(queue, milliseconds / static_cast<unsigned>(count))) has_more = true;
  }
  return has_more;
}

bool LiveStage::take_events() {
  const auto reply = ask("events");
  if (!reply) return false;
  for (const std::string& word : reply.value().words) {
    const std::string_view name = event_name(read_decimal(word).value_or(0));
    if (name.empty()) continue;
    note(fmt::format("event {}", name));
    outputs_.events.emplace_back(name);
  }
  return !outputs_.events.empty();
}

void LiveStage::take_all() {
  while (take_completions(true, 0)) {
  }
  while (take_completions(false, 0)) {
  }
  take_events();
}

void LiveStage::settle() {
  take_packets(wire_.now() + peer_.settle, false);
  take_all();
  may_be_behind_ = false;
}

// A peer need not join acknowledgements as we do: it may send one for each packet, or one for several.
scripts::Stage::Awaited LiveStage::await_packet(const scripts::WantedPacket& wanted) {
  auto& packets = outputs_.packets;
  const Time until = last_moment();
  for (;;) {
    take_packets(until, true);
    if (packets.empty()) return Awaited::kNothing;
    const auto psn = static_cast<std::uint32_t>(packets.front().fields.psn);
    const bool is_ack = wanted.psn && packets.front().fields.name() == "ACK";
    if (is_ack && wanted.name == "ACK" && is_before(*wanted.psn, psn)) return Awaited::kCovered;
    if (!is_ack || !acknowledges(wanted.name) || !is_before(psn, *wanted.psn)) break;
    note("an acknowledgement of an earlier packet, which may come");
    packets.pop_front();
  }
  scripts::Outputs::Packet& packet = packets.front();
  if (packet.fault.empty() && comes_too_early(packet.at)) {
    packet.fault =
        fmt::format("too early: after {} us, not {} us", (packet.at - span_begin_) / 1us, passed_ / 1us);
  }
  return came(packet.at);
}

scripts::Stage::Awaited LiveStage::await_completion(bool is_send) {
  const Time until = last_moment();
  const bool has_queue = std::any_of(completion_queues_.begin(), completion_queues_.end(),
                                     [&](const CompletionQueue& queue) { return queue.is_send == is_send; });
  const bool is_in_lock_step = wire_.is_in_lock_step();
  while (is_send ? outputs_.send_completions.empty() : outputs_.receive_completions.empty()) {
    const bool has_more = take_completions(is_send, is_in_lock_step ? 0 : 100);
    if (has_more) continue;
    if (!has_queue || lost_agent_ || wire_.now() > until) return Awaited::kNothing;
    if (is_in_lock_step) take_packets(wire_.now() + 2ms, false);
  }
  return came(wire_.now());
}

scripts::Stage::Awaited LiveStage::await_send_completion() {
  return await_completion(true);
}

scripts::Stage::Awaited LiveStage::await_receive_completion() {
  return await_completion(false);
}

scripts::Stage::Awaited LiveStage::await_event() {
  const Time until = last_moment();
  while (outputs_.events.empty()) {
    if (take_events()) break;
    if (lost_agent_ || wire_.now() > until) return Awaited::kNothing;
    take_packets(wire_.now() + 2ms, false);
  }
  return came(wire_.now());
}

std::optional<std::string> LiveStage::first_unexpected(Look look) {
  // What comes before its time is found out when the script takes it.
  if (look == Look::kBeforeTime) return std::nullopt;
  if (look == Look::kSilence || may_be_behind_) settle();
  return strange_completion_ ? strange_completion_ : first_of(outputs_);
}

// --- Questions ---

Result<Octets, Trouble> LiveStage::load(const Place& place, std::size_t length) {
  if (may_be_behind_) settle();
  const PeerMemory::Region* region = memory_.named(place.name);
  if (region == nullptr || place.offset > kMostOffset || length > kMostOffset) {
    return scripts::script_error(
        fmt::format("there are no {} bytes at {}+{}", length, place.name, place.offset));
  }
  Octets all;
  while (all.size() < length) {
    const std::size_t piece = std::min(kMostMem, length - all.size());
    const auto reply = ask(fmt::format("mem {} {} {}", region->number, place.offset + all.size(), piece));
    if (!reply) return reply.error();
    const auto bytes = read_hex(reply.value().first());
    if (!bytes || bytes->size() != piece) return unavailable("the agent's reply to 'mem' makes no sense");
    all.insert(all.end(), bytes->begin(), bytes->end());
  }
  return all;
}

Result<Octets, Trouble> LiveStage::expected_header(std::span<const std::byte> given,
                                                   std::span<const std::byte> there) const {
  constexpr std::size_t kIpv4Bytes = 20;
  const bool is_ipv4 = peer_.tester.is_ipv4_mapped();
  if (is_ipv4 != (given.size() == kIpv4Bytes)) {
    return unavailable(fmt::format("the tester has an IPv{} address", is_ipv4 ? 4 : 6));
  }
  const auto own = std::as_bytes(std::span(peer_.tester.octets));
  if (peers_gid_.size() != own.size()) return unavailable("the agent's reply to 'open' makes no sense");
  Octets wanted(there.begin(), there.end());
  wanted.front() = is_ipv4 ? std::byte{0x45} : (wanted.front() & std::byte{0x0f}) | std::byte{0x60};
  // The header ends with the addresses.
  const std::ptrdiff_t size = is_ipv4 ? 4 : 16;
  std::copy(own.end() - size, own.end(), wanted.end() - 2 * size);
  std::copy(peers_gid_.end() - size, peers_gid_.end(), wanted.end() - size);
  return wanted;
}

Result<QpState, Trouble> LiveStage::state() {
  if (may_be_behind_) settle();
  const auto reply = ask("query 0");
  if (!reply) return reply.error();
  const auto state = transport::find_named<QpState>(reply.value().text("state").value_or(""));
  if (!state) return unavailable("the agent's reply to 'query' makes no sense");
  return *state;
}

Result<scripts::Stage::Psns, Trouble> LiveStage::psns() {
  if (may_be_behind_) settle();
  const auto reply = ask("query 0");
  if (!reply) return reply.error();
  return Psns{static_cast<std::uint32_t>(reply.value().number("send-psn").value_or(0)),
              static_cast<std::uint32_t>(reply.value().number("receive-psn").value_or(0))};
}

Result<std::optional<Duration>, Trouble> LiveStage::next_timer() {
  return unavailable("no peer tells about its timers");
}

/// Until what the peer's driver says of counters is about now.
void LiveStage::await_counters() {
  take_packets(wire_.now() + counters_age_, false);
  wire_.wait_in_real_time(counters_age_);
}

Result<std::uint64_t, Trouble> LiveStage::counter(transport::Counter counter, std::uint64_t expected) {
  if (may_be_behind_) settle();
  const Time give_up = wire_.now() + kCountersPatience;
  for (;;) {
    await_counters();
    auto is = read_counter(std::string(name_of(counter)));
    if (!is || is.value() >= expected || wire_.now() >= give_up) return is;
  }
}

/// How much it has grown since the case began.
Result<std::uint64_t, Trouble> LiveStage::read_counter(const std::string& name) {
  const auto reply = ask("counters");
  if (!reply) return reply.error();
  const auto now = reply.value().number(name);
  if (!now || !first_counters_.contains(name)) {
    return unavailable(fmt::format("the peer's NIC has no counter '{}'", name));
  }
  return *now - first_counters_[name];
}

}  // namespace urnic::conform
