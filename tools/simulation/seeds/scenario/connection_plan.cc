// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/connection_plan.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint16_t kFirstPort = 7000;
constexpr std::uint16_t kUnusedPort = 6999;
/// Of REJ, without those that managers give by themselves.
constexpr std::uint8_t kFirstReason = 11;
constexpr std::uint8_t kLastReason = 33;

class ConnectionPlanner {
 public:
  ConnectionPlanner(const Options& options, MemoryPlan& memory, std::uint64_t& next_id)
      : options_(options),
        memory_(memory),
        next_id_(next_id),
        random_(options.seed ^ 0x636d, Stream::kConnections) {}

  ConnectionPlans draw() {
    if (options_.connections.attempts == 0) return {};
    draw_listeners();
    for (std::uint32_t i = 0; i < options_.connections.attempts; ++i) draw_attempt(i);
    return plans_;
  }

 private:
  void draw_listeners();
  void draw_attempt(std::uint32_t number);
  void draw_answer(ConnectionPlan& plan);
  void draw_data(ConnectionPlan& plan);
  void draw_departure(ConnectionPlan& plan);
  void draw_departure_of(ConnectionPlan& plan, std::size_t side);
  Duration draw_pause();
  std::uint8_t draw_bytes(std::uint8_t most);

  const Options& options_;
  MemoryPlan& memory_;
  std::uint64_t& next_id_;
  Random random_;
  ConnectionPlans plans_;
};

/// Two for each host, one of them for datagrams.
void ConnectionPlanner::draw_listeners() {
  std::uint16_t port = kFirstPort;
  for (std::uint32_t host = 0; host < options_.hosts; ++host) {
    for (const bool is_datagram : {false, true}) {
      plans_.listeners.push_back(
          {.host = host_id(host),
           .port = port++,
           .is_datagram = is_datagram,
           .backlog = static_cast<std::uint32_t>(random_.chance(0.3) ? random_.between(1, 2) : 0),
           // Some listen only when they have been asked already.
           .since = random_.chance(0.8) ? Duration(0) : random_.between(milliseconds(1), milliseconds(500))});
    }
  }
}

/// Most programs are quick, some wait for a disk, and some so long that their peers ask again.
Duration ConnectionPlanner::draw_pause() {
  switch (random_.below(10)) {
    case 0:
      return random_.between(milliseconds(4200), milliseconds(9000));
    case 1:
    case 2:
      return random_.between(milliseconds(1), milliseconds(400));
    default:
      return random_.between(microseconds(0), microseconds(300));
  }
}

std::uint8_t ConnectionPlanner::draw_bytes(std::uint8_t most) {
  constexpr std::uint64_t kLeast = 4;  // the number of the attempt
  return static_cast<std::uint8_t>(random_.chance(0.3) ? most : random_.between(kLeast, most));
}

void ConnectionPlanner::draw_attempt(std::uint32_t number) {
  ConnectionPlan plan{.number = number};
  const ListenerPlan& listener = plans_.listeners[random_.below(plans_.listeners.size())];
  plan.is_datagram = listener.is_datagram && random_.chance(0.6);
  // The one before it is the one that is not for datagrams.
  const ListenerPlan& at = listener.is_datagram && !plan.is_datagram ? *(&listener - 1) : listener;
  const auto active = (index(at.host) + random_.between(1, options_.hosts - 1)) % options_.hosts;
  plan.hosts = {host_id(active), at.host};
  plan.port = random_.chance(0.06) ? kUnusedPort : at.port;
  plan.start = random_.chance(0.6) ? random_.between(microseconds(0), milliseconds(2))
                                   : random_.between(microseconds(0), seconds(4));
  plan.responder_resources = static_cast<std::uint8_t>(random_.between(0, 16));
  plan.initiator_depth = static_cast<std::uint8_t>(random_.between(0, 16));
  plan.retry_count = 7;
  plan.rnr_retry_count = static_cast<std::uint8_t>(random_.between(0, 7));
  if (random_.chance(0.5)) plan.ack_timeout = static_cast<std::uint8_t>(random_.between(14, 18));
  draw_answer(plan);
  if (!plan.is_datagram) draw_data(plan);
  draw_departure(plan);
  plans_.attempts.push_back(std::move(plan));
}

void ConnectionPlanner::draw_answer(ConnectionPlan& plan) {
  plan.answer_delay = draw_pause();
  plan.ready_delay = draw_pause();
  if (random_.chance(0.15)) plan.answer = ConnectionPlan::Answer::kReject;
  if (random_.chance(0.03)) plan.answer = ConnectionPlan::Answer::kIgnore;
  plan.refuses_reply = random_.chance(0.05);
  plan.reason = random_.chance(0.5) ? std::uint8_t{0}
                                    : static_cast<std::uint8_t>(random_.between(kFirstReason, kLastReason));
  const std::uint8_t answer_bytes = plan.answer == ConnectionPlan::Answer::kReject && !plan.is_datagram
                                        ? kRejUserBytes
                                    : plan.is_datagram ? kSidrRepUserBytes
                                                       : kRepUserBytes;
  plan.private_bytes = {draw_bytes(plan.is_datagram ? kSidrReqUserBytes : kReqUserBytes),
                        draw_bytes(answer_bytes)};
}

/// A quarter of the connections leave it to the manager's own messages to find out that they are ready.
void ConnectionPlanner::draw_data(ConnectionPlan& plan) {
  for (const std::size_t side : {0u, 1u}) {
    if (random_.chance(0.25)) continue;
    const HostId from = plan.hosts[side];
    const HostId to = plan.hosts[1 - side];
    for (std::uint64_t left = random_.between(1, 3); left > 0; --left) {
      ConnectionData::Message message{.id = next_id_++, .is_write = left > 1 && random_.chance(0.5)};
      const auto length = static_cast<std::uint32_t>(random_.between(1, 6000));
      message.source = memory_.allocate(from, Region::kPrivate, length);
      message.target = memory_.allocate(to, message.is_write ? Region::kShared : Region::kPrivate, length);
      plan.data[side].messages.push_back(message);
    }
  }
}

void ConnectionPlanner::draw_departure(ConnectionPlan& plan) {
  using enum ConnectionPlan::Finish;
  plan.finish = random_.pick(std::array{kActive, kPassive, kBoth, kActiveDestroys, kPassiveDestroys});
  plan.lifetime =
      random_.chance(0.6) ? draw_pause() / 4 : random_.between(milliseconds(10), milliseconds(1500));
  plan.answers_disconnect = random_.chance(0.8);
  plan.starts_over = !plan.is_datagram && random_.chance(0.15);
  if (!options_.connections.may_leave) return;
  plan.is_hasty = random_.chance(0.2);
  for (const std::size_t side : {0u, 1u}) {
    if (random_.chance(0.3)) draw_departure_of(plan, side);
  }
}

void ConnectionPlanner::draw_departure_of(ConnectionPlan& plan, std::size_t side) {
  using enum ConnectionStage;
  static constexpr std::array kActiveStages = {kAsking,        kReplied,      kEstablished,
                                               kDisconnecting, kDisconnected, kTimewait};
  static constexpr std::array kPassiveStages = {kDeciding,      kAccepted,     kEstablished,
                                                kDisconnecting, kDisconnected, kTimewait};
  const ConnectionStage stage = random_.pick(side == 0 ? kActiveStages : kPassiveStages);
  // Half of them leave before a message can have gone there and back.
  plan.departures[side] = {
      .stage = stage,
      .delay = random_.chance(0.5) ? random_.between(microseconds(0), microseconds(10)) : draw_pause()};
  if (stage == kDisconnected) plan.answers_disconnect = false;
  const bool is_late = stage == kDisconnecting || stage == kDisconnected;
  if (!is_late) return;
  // The side that leaves while it disconnects does so itself, and the other is disconnected.
  const bool active_asks = (side == 0) == (stage == kDisconnecting);
  plan.finish = active_asks ? ConnectionPlan::Finish::kActive : ConnectionPlan::Finish::kPassive;
}

}  // namespace

std::string_view name_of(ConnectionStage stage) {
  using enum ConnectionStage;
  switch (stage) {
    case kResolving:
      return "resolving";
    case kAsking:
      return "asking";
    case kDeciding:
      return "deciding";
    case kAccepted:
      return "accepted";
    case kReplied:
      return "replied to";
    case kEstablished:
      return "established";
    case kDisconnecting:
      return "disconnecting";
    case kDisconnected:
      return "disconnected";
    case kTimewait:
      return "in timewait";
    case kOver:
      return "over";
  }
  return "";
}

ConnectionPlans draw_connection_plans(const Options& options, MemoryPlan& memory, std::uint64_t& next_id) {
  return ConnectionPlanner(options, memory, next_id).draw();
}

}  // namespace urnic::sim
