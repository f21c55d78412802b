// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/pair_driver.h"

#include <fmt/core.h>

#include <chrono>

#include "tools/simulation/seeds/traffic/host.h"

namespace urnic::sim {

using std::chrono::microseconds;
using transport::Psn;
using transport::QpState;

namespace {

constexpr Duration kFullQueuePause = microseconds(200);

}  // namespace

PairDriver::PairDriver(Scene& scene, std::uint32_t pair, const std::array<Plan, 2>& plans)
    : scene_(scene),
      index_(pair),
      plans_(plans),
      ends_{EndpointDriver(scene, pair, Side::kLeft, plans[0], plans[1]),
            EndpointDriver(scene, pair, Side::kRight, plans[1], plans[0])} {
  end(Side::kLeft).set_peer(end(Side::kRight));
  end(Side::kRight).set_peer(end(Side::kLeft));
}

void PairDriver::begin() {
  connect();
}

std::optional<Side> PairDriver::find(HostId host, transport::QpNumber number) {
  for (const Side side : kSides) {
    const bool is_ours = end(side).requester().number() == number || end(side).responder().number() == number;
    if (scene_.host_of(index_, side) == host && is_ours) return side;
  }
  return std::nullopt;
}

void PairDriver::break_at(Time time) {
  break_at_ = time;
  scene_.events.add({.time = time, .kind = Event::Kind::kPairStep, .traffic = index_});
}

void PairDriver::schedule(Event::Kind kind, Side side, Duration after) {
  scene_.events.add({.time = scene_.now() + after, .kind = kind, .side = side, .traffic = index_});
}

bool PairDriver::is_done() const {
  return stage_ == Stage::kConnected && ends_[0].has_posted_all() && ends_[1].has_posted_all() &&
         ends_[0].is_idle() && ends_[1].is_idle();
}

// ---------------------------------------------------------------------------------------------------------
// Connecting

void PairDriver::connect() {
  const std::array<Psn, 2> first = {draw_psn(), draw_psn()};
  std::array<FlowObserver::Limits, 2> limits;
  for (const Side side : kSides) {
    limits[index(side)] = {.mtu_bytes = transport::bytes(scene_.options.path_mtu),
                           .window_packets = scene_.options.window_packets,
                           .max_reads_in_flight = scene_.options.max_reads_in_flight,
                           .ack_timeout = scene_.options.effective_ack_timeout(),
                           .first_psn = first[index(side)].value(),
                           .recovery = scene_.options.recovery_of(index_)};
    connect_end(side, first);
  }
  std::array<WireObserver::Numbers, 2> numbers;
  for (const Side side : kSides) {
    numbers[index(side)] = {.requester = to_integer(end(side).requester().number()),
                            .responder = to_integer(end(side).responder().number())};
  }
  const WireService service = end(Side::kLeft).is_xrc() ? WireService::kXrc : WireService::kRc;
  scene_.observer.on_connected(index_, service, limits, scene_.options.ends[index_], numbers);
  for (const Side side : kSides) end(side).on_connected();
  stage_ = Stage::kConnected;
  scene_.referee.note_progress();
  schedule_posts();
}

/// Some connections begin a few packets before the PSNs wrap.
Psn PairDriver::draw_psn() {
  if (scene_.options.psn_near_wrap) return Psn() - static_cast<std::uint32_t>(scene_.random.between(1, 300));
  return Psn(static_cast<std::uint32_t>(scene_.random.next()));
}

/// `first` are the PSNs that each requester begins with. What an XRC queue pair is told of the direction that
/// it does not have means nothing.
void PairDriver::connect_end(Side side, const std::array<Psn, 2>& first) {
  const Psn send_psn = first[index(side)];
  const Psn receive_psn = first[index(other(side))];
  EndpointDriver& peer = end(other(side));
  connect_queue_pair(side, end(side).requester(), peer.responder(), send_psn, receive_psn);
  if (end(side).is_xrc()) {
    connect_queue_pair(side, end(side).responder(), peer.requester(), send_psn, receive_psn);
  }
  scene_.ring(scene_.host_of(index_, side));
}

void PairDriver::connect_queue_pair(Side side, nic::QueuePair& qp, nic::QueuePair& peer, Psn send_psn,
                                    Psn receive_psn) {
  const Host& host = scene_.host(scene_.host_of(index_, side));
  kernel::ConnectionSettings settings = host.connection_to(scene_.host(scene_.host_of(index_, other(side))));
  settings.address.traffic_class = scene_.options.traffic_classes[index_];
  settings.peer_qp = peer.number();
  settings.access = plans_[index(other(side))].responder_access;  // what the peer's plan reckons with
  settings.send_psn = send_psn;
  settings.receive_psn = receive_psn;
  if (scene_.options.recovery_of(index_) == transport::Recovery::kSelectiveRepeat) {
    settings.peer_options = nic::kSelectiveRepeatOption;
  }
  const auto result = kernel::connect(qp, settings);
  if (!result) complain_about(side, result.error());
}

void PairDriver::modify(Side side, nic::QueuePair& qp, const nic::QpAttributes& attributes) {
  if (const auto result = qp.modify(attributes); !result) complain_about(side, result.error());
  scene_.ring(scene_.host_of(index_, side));
}

void PairDriver::move_to(Side side, QpState state) {
  nic::QpAttributes attributes;
  attributes.state = state;
  modify(side, end(side).requester(), attributes);
  if (end(side).is_xrc()) modify(side, end(side).responder(), attributes);
}

void PairDriver::complain_about(Side side, const Error& error) {
  scene_.referee.complain("modify", fmt::format("{}: {}", end(side).label(), error.message));
}

// ---------------------------------------------------------------------------------------------------------
// Working

void PairDriver::schedule_posts() {
  for (const Side side : kSides) {
    schedule_sends(side, scene_.options.post_gap);
    schedule_receives(side);
  }
}

void PairDriver::schedule_sends(Side side, Duration gap) {
  if (end(side).has_posted_all() || sends_scheduled_[index(side)]) return;
  sends_scheduled_[index(side)] = true;
  schedule(Event::Kind::kPostSends, side, scene_.random.between(Duration(0), 2 * gap));
}

/// A full queue gets room with a completion.
void PairDriver::schedule_receives(Side side) {
  if (!end(side).has_receives_to_post() || receives_scheduled_[index(side)]) return;
  receives_scheduled_[index(side)] = true;
  schedule(Event::Kind::kPostReceives, side,
           scene_.random.between(Duration(0), 2 * scene_.options.receive_gap));
}

void PairDriver::on_event(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kPostSends:
      sends_scheduled_[index(event.side)] = false;
      if (stage_ == Stage::kDraining) return;
      // A program may post a little more before it notices the failure; all of that is flushed.
      if (const bool posted =
              end(event.side).post_sends(static_cast<std::uint32_t>(scene_.random.between(1, 8)));
          stage_ == Stage::kConnected) {
        // A full queue may get room without a completion, when what was in it is unsignaled.
        schedule_sends(event.side, posted ? scene_.options.post_gap : kFullQueuePause);
      }
      return;
    case Event::Kind::kPostReceives:
      receives_scheduled_[index(event.side)] = false;
      if (stage_ == Stage::kConnected && end(event.side).post_receives()) schedule_receives(event.side);
      return;
    case Event::Kind::kPairStep:
      on_step();
      return;
    case Event::Kind::kQueueStep:
      on_queue_step(event.side);
      return;
    default:
      return;
  }
}

void PairDriver::on_step() {
  if (stage_ == Stage::kConnected) {
    if (scene_.now() < break_at_) return;
    break_at_ = transport::kNever;
    scene_.random.chance(0.5) ? enter_error()
                              : enter_error_at(scene_.random.chance(0.5) ? Side::kLeft : Side::kRight);
  } else if (scene_.now() >= step_due_) {
    stage_ == Stage::kFailed ? enter_error() : leave_error();
  }
}

void PairDriver::step_after(Duration delay) {
  step_due_ = scene_.now() + delay;
  schedule(Event::Kind::kPairStep, Side::kLeft, delay);
}

// ---------------------------------------------------------------------------------------------------------
// Draining a send queue: what was begun is done, what is posted meanwhile waits

void PairDriver::drain_at(Time time, Side side) {
  scene_.events.add({.time = time, .kind = Event::Kind::kQueueStep, .side = side, .traffic = index_});
}

/// A connection that has failed meanwhile begins without any of this.
void PairDriver::on_queue_step(Side side) {
  if (stage_ != Stage::kConnected) return;
  if (!end(side).is_draining()) return drain(side);
  // Some programs do not wait.
  if (end(side).awaits_drained() && !scene_.random.chance(0.1)) {
    return schedule(Event::Kind::kQueueStep, side,
                    scene_.random.between(microseconds(10), microseconds(300)));
  }
  resume(side);
}

void PairDriver::drain(Side side) {
  if (end(side).requester().query().state != QpState::kReadyToSend) return;
  nic::QpAttributes to_drained;
  to_drained.state = QpState::kSqDrained;
  const bool notify = scene_.random.chance(0.7);
  if (notify || scene_.random.chance(0.5)) to_drained.notify_when_drained = notify;
  modify(side, end(side).requester(), to_drained);
  end(side).begin_draining(notify);
  schedule(Event::Kind::kQueueStep, side, scene_.random.between(microseconds(5), microseconds(2000)));
}

void PairDriver::resume(Side side) {
  nic::QueuePair& qp = end(side).requester();
  if (qp.query().state == QpState::kError) return;  // it failed, and the application has not polled that yet
  nic::QpAttributes attributes;
  if (scene_.random.chance(0.3)) {
    // The only state in which a new timeout may be given; here it is the old one.
    attributes.ack_timeout = scene_.options.ack_timeout;
    attributes.rnr_retry = scene_.options.rnr_retry;
    modify(side, qp, attributes);
    attributes = {};
  }
  attributes.state = QpState::kReadyToSend;
  if (scene_.random.chance(0.5)) attributes.current_state = QpState::kSqDrained;
  modify(side, qp, attributes);
  end(side).end_draining();
  scene_.coverage.add(CoverageEvent::kResumedFromDrained);
}

bool PairDriver::on_completion(HostId host, const transport::Completion& completion) {
  const auto side = find(host, completion.qp_number);
  if (!side) return false;
  end(*side).on_completion(completion);
  if (stage_ != Stage::kConnected) return true;
  end(*side).has_failed() ? fail_soon() : schedule_receives(*side);
  return true;
}

void PairDriver::on_polled(HostId host) {
  for (const Side side : kSides) {
    if (scene_.host_of(index_, side) == host) end(side).on_polled();
  }
}

// ---------------------------------------------------------------------------------------------------------
// Failing

void PairDriver::fail_soon() {
  stage_ = Stage::kFailed;
  // The other end may find out by itself meanwhile.
  const Duration longest =
      scene_.random.chance(0.2) ? 9 * scene_.options.effective_ack_timeout() : microseconds(500);
  step_after(scene_.random.between(microseconds(1), longest));
}

/// One end alone: the other hears nothing any more, until its program is told.
void PairDriver::enter_error_at(Side side) {
  scene_.coverage.add(CoverageEvent::kOneEndInError);
  end(side).expect_flush();
  move_to(side, QpState::kError);
  fail_soon();
}

void PairDriver::enter_error() {
  stage_ = Stage::kDraining;
  for (const Side side : kSides) {
    end(side).expect_flush();
    move_to(side, QpState::kError);
  }
  step_after(scene_.options.settling_time());
}

void PairDriver::leave_error() {
  for (const Side side : kSides) end(side).on_flushed();
  for (const Side side : kSides) end(side).renew_windows();
  for (const Side side : kSides) move_to(side, QpState::kReset);
  scene_.coverage.add(CoverageEvent::kReconnected);
  connect();
}

void PairDriver::judge_end() {
  for (const Side side : kSides) end(side).judge_late_writes();
}

std::string PairDriver::describe() const {
  return fmt::format("{}; {}", ends_[0].describe(), ends_[1].describe());
}

}  // namespace urnic::sim
