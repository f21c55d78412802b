#include "tests/sim/pair_driver.h"

#include <fmt/format.h>

#include <chrono>

#include "tests/sim/connect.h"

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
    if (scene_.host_of(index_, side) == host && end(side).qp().number() == number) return side;
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
                           .first_psn = first[index(side)].value()};
    connect_end(side, first[index(side)], first[index(other(side))]);
  }
  scene_.observer.on_connected(index_, limits, scene_.options.ends[index_],
                               {end(Side::kLeft).qp_number(), end(Side::kRight).qp_number()});
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

void PairDriver::connect_end(Side side, Psn send_psn, Psn receive_psn) {
  const auto result = sim::connect({.qp = end(side).qp(),
                                    .host = scene_.host(scene_.host_of(index_, side)),
                                    .peer = scene_.host(scene_.host_of(index_, other(side))),
                                    .peer_qp = end(other(side)).qp().number(),
                                    .send_psn = send_psn,
                                    .receive_psn = receive_psn,
                                    // What the peer's plan reckons with.
                                    .access = plans_[index(other(side))].responder_access},
                                   scene_.options);
  if (!result) complain_about(side, result.error());
  scene_.ring(scene_.host_of(index_, side));
}

void PairDriver::move_to(Side side, QpState state) {
  nic::QpAttributes attributes;
  attributes.state = state;
  if (const auto result = end(side).qp().modify(attributes); !result) complain_about(side, result.error());
  scene_.ring(scene_.host_of(index_, side));
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
  scene_.coverage.add(Happening::kOneEndInError);
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
  step_after(scene_.options.max_frame_age());
}

void PairDriver::leave_error() {
  for (const Side side : kSides) end(side).on_flushed();
  for (const Side side : kSides) end(side).renew_windows();
  for (const Side side : kSides) move_to(side, QpState::kReset);
  scene_.coverage.add(Happening::kReconnected);
  connect();
}

std::string PairDriver::describe() const {
  return fmt::format("{}; {}", ends_[0].describe(), ends_[1].describe());
}

}  // namespace urnic::sim
