// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/connection_traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace urnic::sim {

using namespace std::chrono_literals;
using nic::rdma_cm::EventType;
using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::Service;
using nic::rdma_cm::SocketAddress;

namespace {

/// What a slow program takes at most to look at its events.
constexpr Duration kSlowest = 30ms;
/// A side of an established connection with nothing left to do waits so long for the other.
constexpr Duration kLongestQuiet = 30s;
/// Of the host, on top of what the managers promise: stalls, and programs that are slow.
constexpr Duration kSlack = 300ms;
constexpr Duration kLookInterval = 500ms;

/// Until a request that is not answered is given up.
constexpr Duration kLongestQuestion = (kCmRetries + 1) * (kCmResponseTime + 2 * kCmPacketLifetime);
/// When there are no ids any more: an answer is kept for three response times, and DREQ is repeated until it
/// is given up.
constexpr Duration kLongestRemains = kLongestQuestion + 3 * kCmResponseTime;

SocketAddress address_of(HostId host, std::uint16_t port, bool ipv6) {
  using Family = SocketAddress::Family;
  return {.family = ipv6 ? Family::kIpv6 : Family::kIpv4, .address = gid_of(host, ipv6), .port = port};
}

}  // namespace

ConnectionTraffic::ConnectionTraffic(Scene& scene, std::uint32_t index, std::uint32_t first_pair,
                                     const ConnectionPlans& plans)
    : scene_(scene), index_(index), first_pair_(first_pair), plans_(plans) {
  for (std::size_t host = 0; host < scene.machines.size(); ++host) {
    clients_.push_back(std::make_unique<RdmaCmClient>(scene, host_id(host)));
  }
  listeners_.resize(plans.listeners.size());
  listening_since_.resize(plans.listeners.size(), transport::kNever);
  for (const ConnectionPlan& plan : plans.attempts) attempts_.push_back({.plan = plan});
}

ConnectionTraffic::~ConnectionTraffic() {
  for (const Attempt& attempt : attempts_) {
    const auto destroy = [this](End& end) {
      if (end.qp) scene_.host(end.host).device().destroy_qp(std::move(end.qp));
    };
    if (attempt.active) destroy(*attempt.active);
    for (const auto& passive : attempt.passive) destroy(*passive);
  }
}

// ---------------------------------------------------------------------------------------------------------
// Time

void ConnectionTraffic::after(Duration delay, std::function<void()> step) {
  const Time time = scene_.now() + delay;
  steps_.emplace(std::pair(time, next_step_++), std::move(step));
  scene_.events.add({.time = time, .kind = Event::Kind::kProgramStep, .traffic = index_});
}

void ConnectionTraffic::on_event(const Event&) {
  if (steps_.empty() || steps_.begin()->first.first > scene_.now()) return;
  const auto step = std::move(steps_.begin()->second);
  steps_.erase(steps_.begin());
  step();
}

void ConnectionTraffic::enter(End& end, Stage stage) {
  end.stage = stage;
  end.since = scene_.now();
  scene_.referee.note_progress();
  const auto& departure = end.attempt.plan.departures[index(end.side)];
  if (departure && departure->stage == stage) after(departure->delay, [this, &end] { leave(end); });
  switch (stage) {
    case Stage::kAsking:
    case Stage::kAccepted:
    case Stage::kDisconnecting:
    case Stage::kTimewait:
      expect(end, longest_wait(end));
      break;
    case Stage::kEstablished:
      expect(end, kLongestQuiet);
      break;
    default:
      break;
  }
}

void ConnectionTraffic::expect(End& end, Duration within) {
  after(within + kSlack, [this, &end, stage = end.stage, since = end.since] {
    if (end.stage == stage && end.since == since) on_overdue(end);
  });
}

/// The end has been in its stage for as long as it may be.
void ConnectionTraffic::on_overdue(End& end) {
  if (end.stage == Stage::kEstablished) return on_quiet(end);
  const Duration longest = longest_wait(end);
  const Duration waited = scene_.now() - end.since;
  if (waited < longest) return expect(end, longest - waited);  // an MRA has come meanwhile
  complain(end, fmt::format("still {} after {} ms", name_of(end.stage),
                            std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()));
}

/// An established connection has not ended by itself.
void ConnectionTraffic::on_quiet(End& end) {
  const End* const peer = peer_of(end);
  // The RTU may be lost, and the REP not repeated for long after an MRA: the peer may have been established
  // just now.
  const bool begins_late =
      peer != nullptr && (peer->stage == Stage::kAccepted ||
                          (peer->stage == Stage::kEstablished && scene_.now() - peer->since < kLongestQuiet));
  if (begins_late) return expect(end, kLongestQuiet);
  if (!is_cut(end.attempt)) {
    if (!has_peer_gone(end)) {
      complain(end, has_all_data(end) ? "the peer does not disconnect" : "data do not get through");
    }
    // It asks again until that is answered.
    const bool disconnects = peer != nullptr && peer->was_established && !peer->has_given_up;
    if (disconnects && scene_.now() - peer->since < kLongestQuestion) return expect(end, kLongestQuestion);
    if (disconnects) complain(end, "is not told that the peer has disconnected");
  }
  // A peer that has gone, and whose last message was lost, is found out by disconnecting.
  disconnect(end);
}

// ---------------------------------------------------------------------------------------------------------
// Beginning

void ConnectionTraffic::begin() {
  for (std::size_t i = 0; i < plans_.listeners.size(); ++i) {
    after(plans_.listeners[i].since, [this, i] { listen(i); });
  }
  for (Attempt& attempt : attempts_) {
    after(attempt.plan.start, [this, &attempt] { start(attempt); });
  }
}

void ConnectionTraffic::listen(std::size_t i) {
  if (are_listeners_closed_) return;
  const ListenerPlan& plan = plans_.listeners[i];
  const auto listening = client(plan.host).call([&](RdmaCm& cm, auto& channel) -> Result<IdNumber, Error> {
    auto id = cm.create_id(channel, i, plan.is_datagram ? PortSpace::kUdp : PortSpace::kTcp,
                           plan.is_datagram ? Service::kUd : Service::kRc);
    if (!id) return id;
    const auto bound = cm.bind(channel, id.value(), address_of(plan.host, plan.port, scene_.options.ipv6));
    if (!bound) return failure(bound.error());
    const auto listens = cm.listen(channel, id.value(), plan.backlog);
    if (!listens) return failure(listens.error());
    return id;
  });
  if (!listening) return scene_.referee.complain("connections", "listening: " + listening.error().message);
  listeners_[i] = listening.value();
  listening_since_[i] = scene_.now();
}

void ConnectionTraffic::start(Attempt& attempt) {
  const ConnectionPlan& plan = attempt.plan;
  if (!attempt.active) {
    attempt.active = std::make_unique<End>(
        End{.attempt = attempt, .side = Side::kLeft, .host = plan.hosts[0], .uid = next_uid_++});
  }
  End& end = *attempt.active;
  by_uid_[end.uid] = &end;
  const auto id = client(end.host).call([&](RdmaCm& cm, auto& channel) {
    return cm.create_id(channel, end.uid, plan.is_datagram ? PortSpace::kUdp : PortSpace::kTcp,
                        plan.is_datagram ? Service::kUd : Service::kRc);
  });
  if (!id) return complain(end, id.error().message);
  end.id = id.value();
  if (plan.ack_timeout && !plan.is_datagram) {
    const auto set = client(end.host).call(
        [&](RdmaCm& cm, auto& channel) { return cm.set_ack_timeout(channel, end.id, *plan.ack_timeout); });
    if (!set) complain(end, set.error().message);
  }
  resolve(end);
}

void ConnectionTraffic::resolve(End& end) {
  const ConnectionPlan& plan = end.attempt.plan;
  ++end.resolutions;
  const auto resolving = client(end.host).call([&](RdmaCm& cm, auto& channel) {
    return cm.resolve_address(channel, end.id, {}, address_of(plan.hosts[1], plan.port, scene_.options.ipv6),
                              2s, scene_.now());
  });
  if (!resolving) complain(end, resolving.error().message);
}

/// The queue pair of `end` connects again, before the old connection is forgotten.
void ConnectionTraffic::start_over(End& end) {
  Attempt second{.plan = end.attempt.plan, .is_second = true};
  second.plan.number = static_cast<std::uint32_t>(attempts_.size());
  second.plan.data = {};
  second.plan.starts_over = false;
  second.plan.departures = {};
  second.plan.answer = ConnectionPlan::Answer::kAccept;
  attempts_.push_back(std::move(second));
  Attempt& attempt = attempts_.back();
  attempt.active = std::make_unique<End>(
      End{.attempt = attempt, .side = Side::kLeft, .host = end.host, .uid = next_uid_++});
  attempt.active->qp = std::move(end.qp);
  attempt.active->qp_number = end.qp_number;
  by_qp_[{end.host, end.qp_number}] = attempt.active.get();
  if (const auto reset = move_qp(*attempt.active, transport::QpState::kReset); !reset) {
    complain(*attempt.active, reset.error().message);
  }
  start(attempt);
}

// ---------------------------------------------------------------------------------------------------------
// Events

void ConnectionTraffic::on_polled(HostId host) {
  if (!client(host).has_events() || client(host).is_fetching) return;
  if (!scene_.options.connections.is_slow) return fetch(host);
  client(host).is_fetching = true;
  after(scene_.random.between(Duration(0), kSlowest), [this, host] { fetch(host); });
}

void ConnectionTraffic::fetch(HostId host) {
  client(host).is_fetching = false;
  while (const auto event = client(host).next_event()) on_cm_event(host, *event);
}

void ConnectionTraffic::on_cm_event(HostId host, const CmEvent& event) {
  if (event.type == EventType::kConnectRequest) return on_request(host, event);
  const auto found = by_uid_.find(event.uid);
  if (found == by_uid_.end() || found->second->is_over() || found->second->id != event.id) {
    return scene_.referee.complain("connections", fmt::format("{}: event {} of an id that is not there",
                                                              name(host), static_cast<int>(event.type)));
  }
  End& end = *found->second;
  switch (event.type) {
    case EventType::kAddressResolved: {
      const auto route =
          client(host).call([&](RdmaCm& cm, auto& channel) { return cm.resolve_route(channel, end.id, 2s); });
      if (!route) complain(end, route.error().message);
      return;
    }
    case EventType::kAddressError:
      return on_address_error(end);
    case EventType::kRouteResolved:
      return connect(end);
    case EventType::kConnectResponse:
      return on_response(end, event);
    case EventType::kEstablished:
      return on_established(end, event);
    case EventType::kRejected:
      judge_rejection(end, event);
      return this->end(end);
    case EventType::kUnreachable:
      judge_silence(end, event);
      end.has_given_up = true;
      return this->end(end);
    case EventType::kDisconnected:
      return on_disconnected(end, event);
    case EventType::kTimewaitExit:
      return on_timewait_exit(end);
    default:
      complain(end, fmt::format("event {}", static_cast<int>(event.type)));
  }
}

// ---------------------------------------------------------------------------------------------------------
// Ending

/// The program has enough, whatever state the connection is in.
void ConnectionTraffic::leave(End& end) {
  if (end.is_over()) return;
  using enum nic::cm::State;
  const auto state = client(end.host).call([&](RdmaCm& cm, auto&) -> std::optional<nic::cm::State> {
    const nic::rdma_cm::Id& id = cm.ids().at(end.id);
    const auto* const connection = id.cm ? cm.messages().find(*id.cm) : nullptr;
    return connection != nullptr ? std::optional(connection->state) : std::nullopt;
  });
  if (state == kReqSent) count(CoverageEvent::kLeftRequestSent);
  if (state == kReqReceived) count(CoverageEvent::kLeftRequestReceived);
  if (state == kRepSent) count(CoverageEvent::kLeftReplySent);
  if (state == kRepReceived) count(CoverageEvent::kLeftReplyReceived);
  if (state == kEstablished) count(CoverageEvent::kLeftEstablished);
  if (state == kDreqSent) count(CoverageEvent::kLeftDisconnectSent);
  if (state == kDreqReceived) count(CoverageEvent::kLeftDisconnectReceived);
  if (state == kTimewait) count(CoverageEvent::kLeftTimewait);
  end.has_left = true;
  const bool starts_over =
      end.attempt.plan.starts_over && end.is_active() && end.stage == Stage::kEstablished;
  if (starts_over) start_over(end);
  this->end(end);
}

void ConnectionTraffic::end(End& end) {
  enter(end, Stage::kOver);
  const auto destroyed = client(end.host).call(
      [&](RdmaCm& cm, auto& channel) { return cm.destroy_id(channel, end.id, scene_.now()); });
  if (!destroyed) complain(end, destroyed.error().message);
  if (end.qp) scene_.host(end.host).device().destroy_qp(std::move(end.qp));
  Attempt& attempt = end.attempt;
  for (const auto& passive : attempt.passive) {
    const bool is_ignored = attempt.plan.answer == ConnectionPlan::Answer::kIgnore;
    if (!end.is_active() || !is_ignored || passive->is_over()) continue;
    after(1s, [this, ignored = passive.get()] { leave(*ignored); });
  }
  if (!attempt.is_over()) return;
  for (const auto& [host, range] : attempt.open) scene_.host(host).memory().settle_as_is(range);
  attempt.open.clear();
  wind_up();
}

/// When no program has an id any more, listeners go, too.
void ConnectionTraffic::wind_up() {
  const auto all_are_over = [this] {
    return std::ranges::all_of(attempts_, [](const Attempt& attempt) { return attempt.is_over(); });
  };
  // A late duplicate may still bring a request.
  if (!all_are_over() || are_listeners_closed_ || is_winding_up_) return;
  is_winding_up_ = true;
  after(kCmPacketLifetime, [this, all_are_over] {
    is_winding_up_ = false;
    if (all_are_over()) close_listeners();
  });
}

void ConnectionTraffic::close_listeners() {
  are_listeners_closed_ = true;
  closed_ = scene_.now();
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (listening_since_[i] == transport::kNever) continue;
    static_cast<void>(client(plans_.listeners[i].host).call([&](RdmaCm& cm, auto& channel) {
      return cm.destroy_id(channel, listeners_[i], scene_.now());
    }));
  }
  look_for_remains();
}

void ConnectionTraffic::look_for_remains() {
  const std::string what = remains();
  if (what.empty() && scene_.now() - closed_ > 2 * kCmPacketLifetime) {
    is_done_ = true;
    return scene_.referee.note_progress();
  }
  if (scene_.now() - closed_ > kLongestRemains + kSlack) {
    return scene_.referee.complain("leak", "of rdma_cm are left " + what);
  }
  after(kLookInterval, [this] { look_for_remains(); });
}

/// Empty when there is nothing; ports that are not free included.
std::string ConnectionTraffic::remains() const {
  std::string what;
  for (std::size_t host = 0; host < clients_.size(); ++host) {
    const auto add = [&](std::size_t number, const char* of_what) {
      if (number > 0) what += fmt::format("{}: {} {} ", name(host_id(host)), number, of_what);
    };
    clients_[host]->call([&](RdmaCm& cm, auto&) {
      add(cm.ids().size(), "ids");
      add(cm.messages().connection_count(), "connections");
      add(cm.next_timeout() != transport::kNever ? 1 : 0, "timers");
    });
    add(clients_[host]->has_events() ? 1 : 0, "channels with events");
  }
  if (!what.empty()) return what;
  for (const ListenerPlan& plan : plans_.listeners) {
    const auto bound = clients_[index(plan.host)]->call([&](RdmaCm& cm, auto& channel) {
      const PortSpace space = plan.is_datagram ? PortSpace::kUdp : PortSpace::kTcp;
      const IdNumber id =
          cm.create_id(channel, 1, space, plan.is_datagram ? Service::kUd : Service::kRc).value();
      auto result = cm.bind(channel, id, address_of(plan.host, plan.port, scene_.options.ipv6));
      static_cast<void>(cm.destroy_id(channel, id, scene_.now()));
      return result;
    });
    if (!bound) what += fmt::format("{}: port {} ", name(plan.host), plan.port);
  }
  return what;
}

// ---------------------------------------------------------------------------------------------------------

std::string ConnectionTraffic::label(const End& end) const {
  return fmt::format("attempt {} ({}>{}), {} side", end.attempt.plan.number, name(end.attempt.plan.hosts[0]),
                     name(end.attempt.plan.hosts[1]), end.is_active() ? "active" : "passive");
}

void ConnectionTraffic::complain(const End& end, const std::string& what) {
  scene_.referee.complain("connections", label(end) + ": " + what);
}

std::string ConnectionTraffic::describe() const {
  std::string text = "rdma_cm:";
  for (const Attempt& attempt : attempts_) {
    if (attempt.active) text += fmt::format(" {} {}", attempt.plan.number, name_of(attempt.active->stage));
    const End* const passive = attempt.live_passive();
    if (passive != nullptr) text += fmt::format("/{}", name_of(passive->stage));
  }
  return text;
}

}  // namespace urnic::sim
