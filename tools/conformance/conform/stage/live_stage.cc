// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/live_stage.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/conform/agent/verbs_numbers.h"
#include "tools/conformance/conform/stage/attributes.h"
#include "transport/enum_names.h"

namespace urnic::conform {

using scripts::Octets;
using scripts::Place;
using scripts::Trouble;
using scripts::unavailable;
using transport::Access;
using transport::Duration;
using transport::QpState;
using transport::Time;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostMem = 4096;  // that the agent reads or writes at once
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 20;
constexpr Duration kLongestCase = 60s;

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
    : Stage(settings), pace_(pace), peer_(peer), agent_(agent), wire_(wire), start_(wire.now()) {
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

std::optional<Trouble> LiveStage::set_up(std::uint32_t own_qp, bool reads_counters) {
  const auto opened = ask(fmt::format("open {} {} {}", peer_.device, peer_.port, peer_.gid_index));
  if (!opened) return opened.error();
  const auto mtu = std::size_t{128} << std::min<std::uint64_t>(opened.value().number("mtu").value_or(0), 5);
  if (bytes(config().path_mtu) > mtu) {
    return unavailable(fmt::format("the path MTU of the peer's port is {} bytes", mtu));
  }
  if (auto trouble = make_memory()) return trouble;
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

// Drivers keep what they have read for a while, which the counter `lifespan` says in milliseconds.
std::optional<Trouble> LiveStage::read_first_counters() {
  const auto before = ask("counters");
  if (!before) return before.error();
  counters_age_ = std::chrono::milliseconds(before.value().number("lifespan").value_or(10) + 2);
  take_packets(wire_.now() + counters_age_, false);
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

std::optional<Trouble> LiveStage::make_memory() {
  std::map<std::uint32_t, std::uint64_t> domains;  // the agent's, by the script's
  if (auto trouble = order("pd")) return trouble;
  domains[to_integer(config().pd)] = 0;
  for (const scripts::Settings::Region& region : settings().regions) {
    const std::uint32_t pd = region.pd.value_or(to_integer(config().pd));
    if (!domains.contains(pd)) {
      if (auto trouble = order("pd")) return trouble;
      const std::uint64_t number = domains.size();
      domains[pd] = number;
    }
    const auto made =
        ask(fmt::format("mr {} {} {}", domains[pd], region.size, verbs_rights_of_memory(region.rights)));
    if (!made) return made.error();
    const auto number = read_decimal(made.value().first());
    const auto address = made.value().number("address");
    const auto rkey = made.value().number("rkey");
    if (!number || !address || !rkey) return unavailable("the agent's reply to 'mr' makes no sense");
    memory_.add({region, static_cast<unsigned>(*number), *address, static_cast<std::uint32_t>(*rkey)});
    const std::string fill = fmt::format("fill {} 0 {} {}", *number, region.size, region.address);
    if (auto trouble = order(fill)) return trouble;
  }
  return std::nullopt;
}

std::optional<Trouble> LiveStage::make_queue_pair(std::uint32_t own_qp) {
  const bool is_rc = config().service == transport::wire::Service::kRc;
  const auto made = ask(fmt::format("qp {} 0 {}", is_rc ? "rc" : "uc", kQueueDepth));
  if (!made) return made.error();
  const auto qpn = made.value().number("qpn");
  if (!qpn) return unavailable("the agent's reply to 'qp' makes no sense");
  settings_.config.local_qp = transport::QpNumber{static_cast<std::uint32_t>(*qpn)};
  settings_.config.remote_qp = transport::QpNumber{own_qp};
  const auto gid = std::as_bytes(std::span(peer_.tester.octets));
  told_ = config();
  return order(fmt::format("connect 0 {} {}", own_qp, to_hex(gid.data(), gid.size())));
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

// --- What the program does ---

std::optional<Trouble> LiveStage::post(const transport::SendRequest& request,
                                       std::span<const transport::Sge> elements, bool is_inline) {
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
  begin_span(wire_.now());
  may_be_behind_ = true;
  return order(line);
}

std::optional<Trouble> LiveStage::receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                          std::span<const transport::Sge> elements) {
  if (srq) return unavailable("the agent makes no shared receive queues");
  const auto sges = memory_.elements_text(elements);
  if (!sges) return unavailable("the agent cannot post such an element");
  return order(fmt::format("recv 0 {}{}", wr_id, *sges));
}

std::optional<Trouble> LiveStage::arm_limit(std::optional<std::uint64_t>, std::uint32_t) {
  return unavailable("the agent makes no shared receive queues");
}

std::optional<Trouble> LiveStage::modify(QpState to) {
  const std::string attributes = attributes_of_step(state_, to, told_, config(), pace_);
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

std::optional<Trouble> LiveStage::change_rights(const std::string&, Access) {
  return unavailable("the agent does not change the rights of a region");
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

// --- What the peer does ---

std::optional<Trouble> LiveStage::arrive(const scripts::PacketFields& packet, std::span<const std::byte>) {
  note("< " + describe(packet));
  scripts::PacketFields translated = memory_.as_peer_has_it(packet);
  if (packet.name() == "RNR_NAK") {
    const auto code = static_cast<std::uint8_t>(packet.syn & 0x1f);
    set_packet_number(translated, "syn", (packet.syn & 0xe0) | pace_.rnr_code(code));
  }
  begin_span(wire_.now());
  may_be_behind_ = true;
  if (!wire_.send(encode(translated))) return unavailable("the port takes no packet");
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

bool LiveStage::take_completion(bool is_send, unsigned milliseconds) {
  const auto reply = ask(fmt::format("poll 0 {} {}", is_send ? "send" : "recv", milliseconds));
  if (!reply) return false;
  if (reply.value().words.empty()) return false;
  const std::string_view word = is_send ? "cqe" : "rcqe";
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
  if (is_send) {
    outputs_.send_completions.push_back(*completion);
  } else {
    outputs_.receive_completions.push_back({*completion, std::nullopt});
  }
  return true;
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
  while (take_completion(true, 0)) {
  }
  while (take_completion(false, 0)) {
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

scripts::Stage::Awaited LiveStage::await_send_completion() {
  const Time until = last_moment();
  while (outputs_.send_completions.empty()) {
    if (!take_completion(true, 100) && (lost_agent_ || wire_.now() > until)) return Awaited::kNothing;
  }
  return came(wire_.now());
}

scripts::Stage::Awaited LiveStage::await_receive_completion() {
  const Time until = last_moment();
  while (outputs_.receive_completions.empty()) {
    if (!take_completion(false, 100) && (lost_agent_ || wire_.now() > until)) return Awaited::kNothing;
  }
  return came(wire_.now());
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

Result<std::uint64_t, Trouble> LiveStage::counter(transport::Counter counter) {
  if (may_be_behind_) settle();
  take_packets(wire_.now() + counters_age_, false);
  const std::string name(name_of(counter));
  const auto reply = ask("counters");
  if (!reply) return reply.error();
  const auto now = reply.value().number(name);
  if (!now || !first_counters_.contains(name)) {
    return unavailable(fmt::format("the peer's NIC has no counter '{}'", name));
  }
  return *now - first_counters_[name];
}

}  // namespace urnic::conform
