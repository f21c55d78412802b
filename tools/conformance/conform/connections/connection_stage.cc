// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/connections/connection_stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tools/conformance/conform/connections/mad_packet.h"
#include "tools/conformance/conform/connections/program.h"
#include "tools/conformance/player/connections/runner.h"
#include "tools/conformance/player/connections/steps.h"

namespace urnic::conform::connections {
namespace {

using namespace std::chrono_literals;
using scripts::Statement;
using scripts::Trouble;
using scripts::unavailable;
using scripts::Verb;
using scripts::Word;
using scripts::connections::Event;
using scripts::connections::Host;
using scripts::connections::Mad;
using scripts::connections::NamedNumber;
using scripts::connections::Sent;
using transport::Duration;
using transport::Time;
using transport::wire::Gid;

constexpr Duration kLongestCase = 60s;
/// Clocks, processors and the wire take their share.
constexpr Duration kShare = 5ms;

/// What must not happen before the end of a time may happen after so much of it.
Duration nearly(Duration time) {
  return time - time / 10 - kShare;
}
/// How long a tester waits for what is due: as long again, and a second.
Duration patience_for(Duration due) {
  return due + 1s;
}

bool any(const scripts::Script& script, bool (*is_so)(const Statement&)) {
  return std::any_of(script.statements.begin(), script.statements.end(), is_so);
}

std::string text_of(const Gid& address) {
  return address.is_ipv4_mapped() ? to_string(address.ipv4()) : to_string(address);
}

/// Whether the script is about IPv4's or IPv6's form of rdma_cm's header.
bool names_ip_version(const Statement& statement) {
  return statement.name == "over" || statement.has("ip-version");
}

/// As libibverbs counts the MTU that fits a link of so many bytes: 1024 or 4096.
std::uint64_t mtu_code_of(std::uint16_t link_mtu) {
  return link_mtu == 1500 ? 3 : 5;
}

/// Whether the program does something at the same moment as a message comes: by another way than the wire.
bool needs_one_moment(const scripts::Script& script) {
  for (std::size_t i = 1; i < script.statements.size(); ++i) {
    const bool is_call = script.statements[i].verb == Verb::kCall;
    if (is_call && script.statements[i - 1].flag("burst")) return true;
  }
  return false;
}

/// Whether the program rejects what it asks for itself: Linux' ib_cm then still repeats the REQ, and destroys
/// the id when all repetitions are over, after more than a minute.
bool rejects_own_request(const scripts::Script& script) {
  std::set<Word> asked;
  for (const Statement& statement : script.statements) {
    if (statement.verb == Verb::kEvent) asked.erase(scripts::connections::name_of_id(statement));
    if (statement.verb != Verb::kCall) continue;
    const Word id = scripts::connections::name_of_id(statement);
    if (statement.name == "connect") asked.insert(id);
    if (statement.name == "reject" && asked.contains(id)) return true;
  }
  return false;
}

/// rdma_cm leads what is for such an address back to its own host.
bool is_loopback(const Gid& address) {
  if (address.is_ipv4_mapped()) return address.ipv4().octets[0] == 127;
  return text_of(address) == "::1";
}

}  // namespace

bool needs_listener(const scripts::Script& script) {
  return any(script, [](const Statement& statement) {
    return statement.verb == Verb::kCall || statement.verb == Verb::kEvent ||
           statement.verb == Verb::kAttributes;
  });
}

ConnectionStage::ConnectionStage(const scripts::connections::Settings& settings, const ConnectionPeer& peer,
                                 const Timing& timing, Agent* listener, Wire& wire)
    : Stage(settings),
      peer_(peer),
      timing_(timing),
      listener_(listener),
      wire_(wire),
      start_(wire.now()),
      span_begin_(start_) {}

Result<std::unique_ptr<ConnectionStage>, Trouble> ConnectionStage::create(const scripts::Script& script,
                                                                          const ConnectionPeer& peer,
                                                                          unsigned number, Agent* listener,
                                                                          Wire& wire) {
  if (needs_one_moment(script)) return unavailable("on a wire no two things happen at the same moment");
  if (rejects_own_request(script)) return unavailable("it may hold the listener for more than a minute");
  const auto timing = Timing::plan(script);
  if (!timing) return timing.error();
  scripts::connections::Settings settings = scripts::connections::settings_of(script);
  const bool is_ipv6 = !peer.peer.is_ipv4_mapped();
  if (settings.is_ipv6 != is_ipv6 && any(script, names_ip_version)) {
    return unavailable(fmt::format("the peer has an IPv{} address", is_ipv6 ? 6 : 4));
  }
  settings.is_ipv6 = is_ipv6;
  std::unique_ptr<ConnectionStage> stage(new ConnectionStage(settings, peer, timing.value(), listener, wire));
  if (auto trouble = stage->set_up(script, number)) return *std::move(trouble);
  return stage;
}

std::optional<Trouble> ConnectionStage::set_up(const scripts::Script& script, unsigned number) {
  std::optional<std::uint64_t> guid;
  if (listener_ != nullptr) {
    const auto reply = ask("begin");
    if (!reply) return reply.error();
    if (!reply.value().is_ok) return unavailable("the listener cannot begin: " + reply.value().error);
    const auto bytes = read_hex(reply.value().text("node-guid").value_or(""));
    const auto mtu = reply.value().number("mtu");
    if (!bytes || bytes->size() != 8 || !mtu) return unavailable("the listener's reply makes no sense");
    guid = 0;
    for (const std::byte byte : *bytes) guid = *guid << 8 | std::to_integer<std::uint64_t>(byte);
    const bool names_mtu = any(script, [](const Statement& each) { return each.name == "link-mtu"; });
    if (names_mtu && *mtu != mtu_code_of(settings_.link_mtu)) {
      return unavailable(fmt::format("the peer's port has an MTU of {} bytes", 128u << (*mtu & 7)));
    }
  }
  aliases_.emplace(number, guid);
  return std::nullopt;
}

void ConnectionStage::end() {
  if (listener_ != nullptr && !lost_listener_) (void)ask("begin");
  aliases_.reset();
  take_messages(wire_.now() + peer_.settle, false);
}

// --- The listener ---

Result<AgentReply, Trouble> ConnectionStage::ask(const std::string& line) {
  if (listener_ == nullptr) return unavailable("there is no listener");
  if (lost_listener_) return unavailable(lost_listener_->message);
  if (wire_.now() - start_ > kLongestCase) return unavailable("the case hangs: it takes more than a minute");
  auto reply = listener_->ask(line);
  if (reply) return std::move(reply.value());
  lost_listener_ = reply.error();
  return unavailable(reply.error().message);
}

std::optional<AgentError> ConnectionStage::find_lost_listener() {
  if (listener_ == nullptr || lost_listener_) return lost_listener_;
  const auto reply = listener_->ask("event 0");
  if (!reply) lost_listener_ = reply.error();
  return lost_listener_;
}

Result<std::uint64_t, Trouble> ConnectionStage::id_of(const Statement& statement) const {
  const Word name = scripts::connections::name_of_id(statement);
  const auto id = ids.find(name);
  if (id == ids.end()) return scripts::script_error(fmt::format("the program has no id '{}'", name));
  return id->second;
}

std::optional<Trouble> ConnectionStage::compare_answer(const Statement& statement,
                                                       const AgentReply& reply) const {
  const int wanted = scripts::connections::wanted_error(statement);
  if (reply.is_ok) return wanted == 0 ? std::nullopt : std::optional(Trouble{"the call succeeds"});
  const auto is = errno_of(reply);
  if (is == wanted) return std::nullopt;
  const std::string text = fmt::format("the listener cannot {}: {}", statement.name, reply.error);
  // An address or a port that another program has is no fault of the NIC.
  const bool is_made = statement.name == "listen" || statement.name == "connect";
  if (!is || (is_made && wanted == 0)) return unavailable(text);
  return Trouble{text};
}

std::optional<Trouble> ConnectionStage::call(const Statement& statement) {
  begin_span();
  may_be_behind_ = true;
  const Word name = scripts::connections::name_of_id(statement);
  const bool is_made = statement.name == "listen" || (statement.name == "connect" && !ids.contains(name));
  if (is_made && statement.name == "connect" && is_loopback(peer_.tester)) {
    return unavailable("rdma_cm finds the peer itself at the tester's loopback address");
  }
  if (is_made) {
    const auto line = line_that_makes(statement, text_of(peer_.tester));
    if (!line) return line.error();
    const auto reply = ask(line.value());
    if (!reply) return reply.error();
    if (reply.value().is_ok) {
      const auto id = read_decimal(reply.value().first());
      if (!id) return unavailable("the listener's reply makes no sense");
      ids[name] = *id;
    }
    if (!reply.value().is_ok || statement.name == "listen") return compare_answer(statement, reply.value());
  }
  const auto id = statement.name == "data" ? Result<std::uint64_t, Trouble>(0) : id_of(statement);
  if (!id) return id.error();
  const auto line = line_about(statement, id.value());
  if (!line) return line.error();
  const auto reply = ask(line.value());
  if (!reply) return reply.error();
  if (statement.name == "destroy") ids.erase(name);
  return compare_answer(statement, reply.value());
}

bool ConnectionStage::take_event() {
  if (event_) return true;
  const auto reply = ask("event 0");
  if (!reply || !reply.value().is_ok || reply.value().words.empty()) return false;
  event_ = event_of(reply.value());
  return event_.has_value();
}

// --- Times ---

void ConnectionStage::begin_span() {
  // Before a timer of the peer may expire. Where it must have expired, the script has taken what followed.
  take_messages(span_begin_ + nearly(passed_), false);
  span_begin_ = wire_.now();
  passed_ = Duration(0);
  was_taken_ = false;
}

Time ConnectionStage::last_moment() {
  return std::max(wire_.now(), span_begin_ + passed_) + patience_for(passed_);
}

/// The wire is listened to when the next thing is looked for, or done.
std::optional<Trouble> ConnectionStage::pass(Duration duration) {
  passed_ += timing_.wait(duration);
  was_taken_ = false;
  return std::nullopt;
}

bool ConnectionStage::is_gap(Duration is, Duration wanted) const {
  const Duration due = timing_.wait(wanted);
  return is >= nearly(due) && is <= due + patience_for(due);
}

// --- The wire ---

Gid ConnectionStage::gid_of(Host host) const {
  Gid gid = host == Host::kOurs ? peer_.peer : peer_.tester;
  // An address beside the tester's, which no packet comes from.
  if (host == Host::kStranger) gid.octets.back() = static_cast<std::uint8_t>(gid.octets.back() ^ 0x55);
  return gid;
}

bool ConnectionStage::send(const Mad& mad, std::size_t bytes) {
  const bool is_sent = wire_.send(make_mad_packet(mad.bytes().first(bytes), next_psn_++));
  wire_.flush();
  return is_sent;
}

std::optional<Trouble> ConnectionStage::arrive(const Mad& mad, std::size_t bytes, Host from) {
  if (from != Host::kPeer) return unavailable("the tester has no other host's address");
  begin_span();
  may_be_behind_ = true;
  ++arrivals_;
  const Mad translated = aliases_->as_peer_has_it(timing_.slowed_down(mad));
  if (!send(translated, bytes)) return unavailable("the port takes no packet");
  return std::nullopt;
}

/// Without an answer the peer would ask for a minute, and into the next cases.
void ConnectionStage::answer_disconnect(const Mad& mad) {
  Mad answer = *Mad::named("DREP");
  answer.set("tid", mad.get("tid"));
  answer.set("local-id", mad.get("remote-id"));
  answer.set("remote-id", mad.get("local-id"));
  send(answer, Mad::kBytes);
}

void ConnectionStage::take(const Arrival& arrival) {
  const auto heard = read_mad_packet(arrival.ib);
  if (!heard) return;
  const auto mad = aliases_ ? aliases_->as_script_has_it(heard->mad) : std::nullopt;
  if (!mad) {
    if (heard->mad.name() == "DREQ") answer_disconnect(heard->mad);
    return;
  }
  Sent sent{.mad = *mad,
            .at = arrival.at,
            .source = peer_.peer,
            .destination = peer_.tester,
            .traffic_class = arrival.traffic_class,
            .fault = arrival.fault.empty() ? heard->fault : arrival.fault,
            .known = conversation_.learn_sent(
                *mad, listener_ == nullptr ? std::nullopt : std::optional(Aliases::kOwnGuid))};
  note("> " + sent.mad.describe());
  sent_.push_back(std::move(sent));
}

void ConnectionStage::take_messages(Time until, bool stops_at_first) {
  while (!stops_at_first || sent_.empty()) {
    const auto arrival = wire_.receive(until);
    if (!arrival) return;
    take(*arrival);
  }
}

// --- What came out ---

void ConnectionStage::note_taken(Time at) {
  last_taken_ = at;
  was_taken_ = true;
  arrivals_ = 0;
  may_be_behind_ = false;
}

bool ConnectionStage::await_message() {
  take_messages(last_moment(), true);
  if (sent_.empty()) return false;
  note_taken(sent_.front().at);
  return true;
}

std::optional<Event> ConnectionStage::await_event() {
  // The program fetches no event before the whole of a burst is there.
  if (arrivals_ > 1) take_messages(wire_.now() + peer_.settle, false);
  const Time until = last_moment();
  while (!take_event()) {
    if (listener_ == nullptr || lost_listener_ || wire_.now() > until) return std::nullopt;
    take_messages(wire_.now() + 2ms, false);
  }
  note_taken(wire_.now());
  return std::exchange(event_, std::nullopt);
}

std::optional<std::string> ConnectionStage::first_unexpected(Look look) {
  // What comes before its time is found out when the script takes it, or says that there is silence.
  if (look == Look::kBeforeTime) return std::nullopt;
  Time until = wire_.now();
  if (look == Look::kBeforeAction) {
    until = std::max(until, span_begin_ + nearly(passed_)) + (may_be_behind_ ? peer_.settle : Duration(0));
  } else if (passed_ == Duration(0)) {
    until += peer_.settle;
  } else {
    // Nothing may come before what is due at the end of that time, and nothing beside it.
    until = was_taken_ ? last_taken_ + peer_.settle : span_begin_ + nearly(passed_);
  }
  take_messages(until, false);
  if (!sent_.empty() && sent_.front().at <= until) return "> " + sent_.front().mad.describe();
  if (listener_ != nullptr && wire_.now() <= until + kShare && take_event()) return describe(*event_);
  return std::nullopt;
}

// --- Questions ---

Result<std::optional<Duration>, Trouble> ConnectionStage::next_timer() {
  return unavailable("no peer tells about its timers");
}

Result<std::string_view, Trouble> ConnectionStage::state(std::uint64_t) {
  return unavailable("librdmacm does not tell states");
}

Result<std::size_t, Trouble> ConnectionStage::connection_count() {
  return unavailable("no peer tells how many connections it remembers");
}

Result<std::vector<NamedNumber>, Trouble> ConnectionStage::attributes(std::uint64_t id,
                                                                      transport::QpState to) {
  const char* const state = to == transport::QpState::kReadyToSend ? "RTS" : "RTR";
  const auto reply = ask(fmt::format("attributes {} {}", id, state));
  if (!reply) return reply.error();
  if (!reply.value().is_ok) return Trouble{"the listener cannot tell: " + reply.value().error};
  std::vector<NamedNumber> known;
  for (const std::string_view name :
       {"qpn", "send-psn", "receive-psn", "mtu", "resources", "depth", "ack-timeout", "retries",
        "rnr-retries", "flow-label", "traffic-class", "sl", "reads"}) {
    if (const auto number = reply.value().number(name)) known.push_back({name, *number});
  }
  return known;
}

}  // namespace urnic::conform::connections
