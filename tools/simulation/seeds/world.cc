// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tools/simulation/seeds/leaks.h"

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using transport::Counter;
using transport::kNever;

/// More steps than that mean that the world goes round in circles.
constexpr std::uint64_t kMaxSteps = 5'000'000;

}  // namespace

World::World(const Options& options)
    : options_(options),
      plans_(Plans::draw(options_)),
      referee_(clock_),
      liveness_(options_, clock_, referee_),
      observer_(clock_, referee_, options_.all_pairs() + 1, options_.frame_lateness()),
      network_(options_, clock_, events_),
      application_random_(options_.seed, Stream::kApplication),
      schedule_random_(options_.seed, Stream::kSchedule),
      scene_{.options = options_,
             .clock = clock_,
             .events = events_,
             .referee = referee_,
             .observer = observer_,
             .coverage = coverage_,
             .random = application_random_} {
  for (std::uint32_t i = 0; i < options_.hosts; ++i) {
    auto host = std::make_unique<Host>(host_id(i), options_, plans_, clock_, network_, observer_);
    auto volatile_key = std::make_unique<VolatileKey>(*host);
    std::vector<std::unique_ptr<SharedReceives>> shared_receives;
    for (std::size_t number = 0; number < kSharedQueues; ++number) {
      shared_receives.push_back(
          std::make_unique<SharedReceives>(*host, number, plans_.shared_buffers[i][number]));
    }
    scene_.machines.push_back({.host = std::move(host),
                               .volatile_key = std::move(volatile_key),
                               .shared_receives = std::move(shared_receives),
                               .run_at = clock_.now()});
  }
  for (std::uint32_t pair = 0; pair < options_.all_pairs(); ++pair) {
    auto driver = std::make_unique<PairDriver>(scene_, pair, plans_.pairs[pair]);
    pairs_.push_back(driver.get());
    traffic_.push_back(std::move(driver));
  }
  if (options_.overruns) traffic_.push_back(std::make_unique<OverrunTraffic>(scene_, options_.all_pairs()));
  for (const Machine& machine : scene_.machines) watch_management(machine.host->id());
  for (const UnreliablePlan& plan : plans_.unreliable) {
    const auto index = static_cast<std::uint32_t>(traffic_.size());
    traffic_.push_back(std::make_unique<UnreliableTraffic>(scene_, index, plan));
  }
  if (options_.connections.attempts > 0) {
    const auto index = static_cast<std::uint32_t>(traffic_.size());
    traffic_.push_back(
        std::make_unique<ConnectionTraffic>(scene_, index, options_.all_pairs() + 1, plans_.connections));
    connections_ = traffic_.back().get();
  }
}

/// What queue pair 1 may send: datagrams whose PSNs count from 0 (fact 44).
void World::watch_management(HostId host) {
  constexpr std::uint32_t kMadBytes = 256;
  observer_.on_unreliable(
      host, kManagementQp,
      {.is_datagram = true,
       .mtu_bytes = kMadBytes,
       .qp_number = kManagementQp,
       .without_neighbor = [this, host] { return scene_.host(host).packets_without_neighbor(); }});
}

World::~World() {
  // Devices that are being destroyed may wait a bounded time for their peers.
  clock_.run_by_itself(microseconds(50));
  traffic_.clear();
}

std::optional<Failure> World::run() {
  begin();
  while (!referee_.failure() && !is_done()) {
    if (!step()) referee_.complain("liveness", "nothing will ever happen again");
    maybe_stop_faults();
    // Connection managers wait for seconds where queue pairs wait for milliseconds.
    if (!is_done_except_connections()) liveness_.check_progress();
  }
  if (!referee_.failure()) fall_silent();
  if (!referee_.failure()) judge_end();
  collect_coverage();
  if (!referee_.failure()) {
    clock_.run_by_itself(microseconds(50));
    traffic_.clear();
    take_down(scene_);
  }
  if (referee_.failure() && referee_.failure()->oracle == "liveness") {
    Failure failure = *referee_.failure();
    for (const auto& traffic : traffic_) failure.what += "; " + traffic->describe();
    return failure;
  }
  return referee_.failure();
}

void World::begin() {
  for (const Machine& machine : scene_.machines) {
    for (std::size_t number = 0; number < kSharedQueues; ++number) post_shared(machine.host->id(), number);
  }
  for (const auto& traffic : traffic_) traffic->begin();
  for (std::uint32_t i = 0; i < options_.deliberate_errors; ++i) {
    pairs_[application_random_.below(options_.pairs)]->break_at(
        clock_.now() + application_random_.between(microseconds(50), microseconds(3000)));
  }
  for (std::uint32_t i = 0; i < options_.drains; ++i) {
    const Side side = application_random_.chance(0.5) ? Side::kLeft : Side::kRight;
    pairs_[application_random_.below(options_.pairs)]->drain_at(
        clock_.now() + application_random_.between(microseconds(20), microseconds(5000)), side);
  }
  for (std::uint32_t i = 0; i < options_.deregistrations; ++i) {
    events_.add({.time = clock_.now() + application_random_.between(microseconds(50), microseconds(5000)),
                 .kind = Event::Kind::kDeregister,
                 .host = host_id(application_random_.below(options_.hosts))});
  }
  for (int i = 0; i < 3; ++i) {
    events_.add({.time = clock_.now() + application_random_.between(microseconds(50), microseconds(5000)),
                 .kind = Event::Kind::kCheckMemory});
  }
}

bool World::step() {
  Time next = std::min(events_.next_time(), network_.path().next_event());
  for (const Machine& machine : scene_.machines) next = std::min(next, wake_time(machine));
  if (next == kNever) return false;
  if (next > clock_.now()) clock_.advance_to(next);
  if (++steps_ > kMaxSteps) {
    referee_.complain("liveness",
                      fmt::format("{} steps and no end: the world goes round in circles", kMaxSteps));
  }
  if (network_.path().next_event() <= clock_.now()) network_.path().run_until(clock_.now());
  if (events_.next_time() <= clock_.now()) {
    handle(events_.take());
    return true;
  }
  for (std::size_t i = 0; i < scene_.machines.size(); ++i) {
    if (wake_time(scene_.machines[i]) <= clock_.now()) run_host(host_id(i));
  }
  return true;
}

void World::handle(Event event) {
  switch (event.kind) {
    case Event::Kind::kDeliver: {
      Machine& machine = scene_.machine(event.host);
      Attachment& attachment = machine.host->attachment();
      // A host at rest may be a while in noticing; then it finds all that has come until then.
      if (attachment.inbox.empty()) {
        machine.run_at = std::min(machine.run_at, clock_.now() + options_.poll_delay);
      }
      attachment.inbox.push_back(std::move(event.frame));
      return;
    }
    case Event::Kind::kEnter:
      return network_.path().enter(event.host, std::move(event.frame));
    case Event::Kind::kPostSends:
    case Event::Kind::kPostReceives:
    case Event::Kind::kPairStep:
    case Event::Kind::kQueueStep:
    case Event::Kind::kProgramStep:
      return traffic_[event.traffic]->on_event(event);
    case Event::Kind::kPostShared:
      return post_shared(event.host, event.traffic);
    case Event::Kind::kDeregister:
      return deregister(event.host);
    case Event::Kind::kCheckMemory:
      return check_memory();
    case Event::Kind::kNothing:
      return;
  }
}

void World::post_shared(HostId host, std::size_t number) {
  const std::uint32_t receives = number == 0 ? options_.shared_receives : options_.xrc_receives;
  if (receives == 0) return;
  SharedReceives& shared = *scene_.machine(host).shared_receives[number];
  const std::string where(1, name(host));
  referee_.complain_if("shared receives", shared.post(), where);
  // Every other time the program wants to hear when the queue runs low.
  if (!application_random_.chance(0.5)) return;
  const auto limit = static_cast<std::uint32_t>(application_random_.between(1, (receives + 1) / 2));
  referee_.complain_if("shared receives", shared.arm(limit), where);
}

void World::deregister(HostId host) {
  coverage_.add(CoverageEvent::kDeregistered);
  coverage_.add(CoverageEvent::kDeregisteredInUse, scene_.machine(host).volatile_key->renew());
}

void World::check_memory() {
  for (const Machine& machine : scene_.machines) {
    referee_.complain_if("memory", machine.host->memory().check(), std::string(1, name(machine.host->id())));
  }
}

/// When the host runs next: called for, or for its timers, but not while it is busy or stalled.
Time World::wake_time(const Machine& machine) const {
  const Time due = std::min(machine.run_at, machine.timer_at);
  return due == kNever ? kNever : std::max({due, machine.busy_until, clock_.now()});
}

void World::run_host(HostId id) {
  Machine& machine = scene_.machine(id);
  Host& host = *machine.host;
  if (scene_.faults_stopped == kNever && schedule_random_.chance(options_.stall)) {
    coverage_.add(CoverageEvent::kStall);
    machine.busy_until = clock_.now() + schedule_random_.between(microseconds(1), options_.stall_time);
    return;
  }
  machine.run_at = kNever;
  const bool did_something = host.device().progress();
  machine.busy_until = clock_.now() + options_.round_cost;
  if (host.attachment().frames_not_flushed > 0) {
    referee_.complain("wire", fmt::format("{}: a round of the engine ended without a flush", name(id)));
  }
  if (did_something || !host.attachment().inbox.empty()) machine.run_at = clock_.now();
  if (clock_.now() < host.attachment().full_until) {
    machine.run_at = std::min(machine.run_at, host.attachment().full_until);
  }
  poll_completions(id);
  machine.timer_at = host.device().next_timeout();
  // What waits for room is due at once, for as long as a link is paused.
  if (options_.topology) machine.timer_at = std::max(machine.timer_at, host.attachment().full_until);
}

void World::poll_completions(HostId id) {
  std::array<transport::Completion, 32> completions;
  for (const auto& queue : scene_.host(id).queues()) {
    std::size_t count = 0;
    do {
      count = queue->poll(completions);
      for (const auto& completion : std::span(completions).first(count)) {
        const bool is_taken = std::ranges::any_of(
            traffic_, [&](const auto& traffic) { return traffic->on_completion(id, completion); });
        if (is_taken) continue;
        referee_.complain("completions",
                          fmt::format("{}: a completion of a queue pair that is not there", name(id)));
        return;
      }
    } while (count == completions.size());
    if (queue->has_overrun()) {
      const auto number = &queue - scene_.host(id).queues().data();
      referee_.complain("completions", fmt::format("{}: completion queue {} of {} places overran", name(id),
                                                   number, queue->capacity()));
    }
  }
  for (const auto& traffic : traffic_) traffic->on_polled(id);
}

bool World::is_done_except_connections() const {
  return std::ranges::all_of(
      traffic_, [this](const auto& traffic) { return traffic->is_done() || traffic.get() == connections_; });
}

bool World::is_done() const {
  return is_done_except_connections() && (connections_ == nullptr || connections_->is_done());
}

void World::maybe_stop_faults() {
  if (scene_.faults_stopped != kNever) return;
  const auto enough = static_cast<std::uint64_t>(options_.safety_fraction * options_.operations);
  if (coverage_.count(CoverageEvent::kOperations) < enough && clock_.now().time_since_epoch() < seconds(20)) {
    return;
  }
  const bool is_connecting = connections_ != nullptr && !connections_->is_done();
  if (is_connecting && clock_.now().time_since_epoch() < options_.connections.faults_until) return;
  scene_.faults_stopped = clock_.now();
  network_.stop_faults();
  for (const Machine& machine : scene_.machines) machine.host->attachment().faults_on = false;
}

void World::fall_silent() {
  liveness_.begin_silence();
  const Time end = liveness_.silence_ends();
  events_.add({.time = end});
  while (!referee_.failure() && clock_.now() < end && step()) {
  }
  liveness_.judge_silence(observer_.last_roce_frame());
}

void World::judge_end() {
  for (PairDriver* const pair : pairs_) pair->judge_end();
  check_memory();
  for (const Machine& machine : scene_.machines) {
    const char host = name(machine.host->id());
    referee_.complain_if("atomics", machine.host->check_atomics(), std::string(1, host));
    for (const auto& shared : machine.shared_receives) {
      referee_.complain_if("leak", shared->judge(), std::string(1, host));
    }
    const auto& counters = machine.host->device().counters();
    if (!options_.is_peaceful()) continue;
    for (const Counter counter : {Counter::kLocalAckTimeout, Counter::kDuplicateRequest,
                                  Counter::kPacketSequenceError, Counter::kImpliedNakSequenceError}) {
      // What came after a packet that found no receive is held: it is reported, and may be sent again before
      // that.
      const bool is_of_gap =
          counter == Counter::kDuplicateRequest || counter == Counter::kPacketSequenceError;
      if (is_of_gap && options_.any_repeats_selectively()) continue;
      if (counters.value(counter) == 0) continue;
      referee_.complain("wire", fmt::format("{}: {} is {} though the network lost nothing", host,
                                            name_of(counter), counters.value(counter)));
    }
  }
}

void World::collect_faults() {
  const FaultCounts& faults = network_.faults();
  coverage_.add(CoverageEvent::kLost, faults.lost);
  coverage_.add(CoverageEvent::kLostInBlackout, faults.lost_in_blackout);
  coverage_.add(CoverageEvent::kLostInBurst, faults.lost_in_burst);
  coverage_.add(CoverageEvent::kLostInPartition, faults.lost_in_partition);
  coverage_.add(CoverageEvent::kLostExactly, faults.lost_exactly);
  coverage_.add(CoverageEvent::kManagementLost, faults.management_lost);
  coverage_.add(CoverageEvent::kDuplicated, faults.duplicated);
  coverage_.add(CoverageEvent::kReordered, faults.reordered);
  coverage_.add(CoverageEvent::kCorrupted, faults.corrupted);
  coverage_.add(CoverageEvent::kTruncated, faults.truncated);
  coverage_.add(CoverageEvent::kPadded, faults.padded);
  coverage_.add(CoverageEvent::kLinkPaused, faults.paused);
  coverage_.add(CoverageEvent::kCongestionMarked, faults.congestion_marked);
}

void World::collect_path() {
  const PathCounts* const counts = network_.path_counts();
  if (counts == nullptr) return;
  using network::DropReason;
  coverage_.add(CoverageEvent::kTopologies);
  coverage_.add(CoverageEvent::kQueueFull, counts->drops(DropReason::kTailDrop));
  coverage_.add(CoverageEvent::kBufferFull, counts->drops(DropReason::kBufferFull));
  coverage_.add(CoverageEvent::kHeadroomFull, counts->drops(DropReason::kHeadroomFull));
  coverage_.add(CoverageEvent::kNotEctDropped, counts->drops(DropReason::kNotEct));
  coverage_.add(CoverageEvent::kMarkedByQueue, counts->marked);
  coverage_.add(CoverageEvent::kPriorityPaused, counts->pauses);
  coverage_.add(CoverageEvent::kNicPaused, counts->nic_pauses);
  coverage_.add(CoverageEvent::kWatchdogFired, counts->watchdogs);
  coverage_.add(CoverageEvent::kDroppedByWatchdog, counts->drops(DropReason::kWatchdog));
  coverage_.add(CoverageEvent::kLinkCut, counts->links_cut);
  coverage_.add(CoverageEvent::kLostWithLink, counts->drops(DropReason::kLinkDown));
  coverage_.add(CoverageEvent::kNoWayLeft, counts->drops(DropReason::kNoWay));
  coverage_.add(CoverageEvent::kOtherWay, counts->other_ways);
  coverage_.add(CoverageEvent::kGivenUp, counts->given_up);
}

void World::collect_coverage() {
  collect_faults();
  collect_path();
  coverage_.add(CoverageEvent::kFrames, observer_.sent_frames());
  coverage_.add(options_.hosts > 2 ? CoverageEvent::kManyHosts : CoverageEvent::kTwoHosts);
  coverage_.add(CoverageEvent::kAdversaries,
                static_cast<std::uint64_t>(std::ranges::count_if(
                    options_.adversaries, [](const auto& one) { return one.has_value(); })));
  coverage_.add(CoverageEvent::kNotified, observer_.notifications().sent());
  for (const Machine& machine : scene_.machines) {
    for (const auto& [name, value] : machine.host->device().all_counters()) {
      if (name == "rp_cnp_handled") coverage_.add(CoverageEvent::kNotificationObeyed, value);
    }
    coverage_.add(CoverageEvent::kSharedQueueLow, machine.host->limit_events(0));
    for (std::size_t queue = 1; queue < kSharedQueues; ++queue) {
      coverage_.add(CoverageEvent::kXrcQueueLow, machine.host->limit_events(queue));
    }
    coverage_.add(CoverageEvent::kPortFull, machine.host->attachment().times_full);
    coverage_.add(CoverageEvent::kPortHeldUp, machine.host->attachment().times_held_up);
    const auto& counters = machine.host->device().counters();
    coverage_.add(CoverageEvent::kTimeout, counters.value(Counter::kLocalAckTimeout));
    coverage_.add(CoverageEvent::kImpliedNak, counters.value(Counter::kImpliedNakSequenceError));
    coverage_.add(CoverageEvent::kResumedInsideMessage, counters.value(Counter::kResumedInsideMessage));
  }
  const ManagementObserver& management = observer_.management();
  coverage_.add(CoverageEvent::kRequestRepeated, management.repeated(CmKind::kRequest));
  coverage_.add(CoverageEvent::kReplyRepeated, management.repeated(CmKind::kReply));
  coverage_.add(CoverageEvent::kReadyRepeated, management.repeated(CmKind::kReadyToUse));
  coverage_.add(CoverageEvent::kDisconnectRepeated, management.repeated(CmKind::kDisconnectRequest));
  coverage_.add(CoverageEvent::kServiceRequestRepeated, management.repeated(CmKind::kServiceRequest));
  coverage_.add(CoverageEvent::kMoreTimeAsked, management.sent(CmKind::kMessageReceipt));
  for (const FlowObserver::Counts& counts : observer_.all_counts()) {
    coverage_.add(CoverageEvent::kSequenceNak, counts.sequence_naks);
    coverage_.add(CoverageEvent::kSelectiveNak, counts.selective_naks);
    coverage_.add(CoverageEvent::kSelectiveRepetition, counts.selective_repetitions);
    coverage_.add(CoverageEvent::kRnrNak, counts.rnr_naks);
    coverage_.add(CoverageEvent::kErrorNak, counts.error_naks);
    coverage_.add(CoverageEvent::kRewind, counts.rewinds);
    coverage_.add(CoverageEvent::kReadResumedInside, counts.reads_resumed_inside);
    coverage_.add(CoverageEvent::kReadInPieces, counts.reads_in_pieces);
    coverage_.add(CoverageEvent::kDuplicateRequest, counts.duplicate_requests);
    coverage_.add(CoverageEvent::kDuplicateRead, counts.duplicate_reads);
    coverage_.add(CoverageEvent::kDuplicateAtomic, counts.duplicate_atomics);
    coverage_.add(CoverageEvent::kReplayedAnswer, counts.replayed_answers);
    coverage_.add(CoverageEvent::kCoalescedAck, counts.coalesced_acks);
    coverage_.add(CoverageEvent::kAckInsideMessage, counts.acks_inside_message);
    coverage_.add(CoverageEvent::kFullWindow, counts.full_windows);
    coverage_.add(CoverageEvent::kRnrBehindUnanswered, counts.rnr_behind_unanswered);
    coverage_.add(CoverageEvent::kRepeatedReadRefused, counts.repeated_reads_refused);
    coverage_.add(CoverageEvent::kPsnWrapInsideMessage, counts.psn_wraps_inside_message);
    coverage_.add(CoverageEvent::kPsnWrapInsideRead, counts.psn_wraps_inside_read);
  }
}

}  // namespace urnic::sim
