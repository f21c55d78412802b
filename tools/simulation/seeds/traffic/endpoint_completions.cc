// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The half of EndpointDriver that takes completions.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "tools/simulation/seeds/traffic/endpoint_driver.h"
#include "tools/simulation/seeds/traffic/shared_receives.h"

namespace urnic::sim {
namespace {

using transport::CompletionStatus;
using transport::SendOperation;

/// What an adversary holds back is in memory then, unless its host stalls.
constexpr Duration kLatestPlacement = std::chrono::milliseconds(2);

std::optional<CoverageEvent> coverage_event_of(transport::CompletionOpcode opcode) {
  using enum transport::CompletionOpcode;
  switch (opcode) {
    case kSend:
      return CoverageEvent::kSendCompleted;
    case kRdmaWrite:
      return CoverageEvent::kWriteCompleted;
    case kRdmaRead:
      return CoverageEvent::kReadCompleted;
    case kCompareSwap:
      return CoverageEvent::kCompareSwapCompleted;
    case kFetchAdd:
      return CoverageEvent::kFetchAddCompleted;
    case kFlush:
      return CoverageEvent::kFlushCompleted;
    case kAtomicWrite:
      return CoverageEvent::kAtomicWriteCompleted;
    case kLocalInvalidate:
      return CoverageEvent::kLocalInvalidateCompleted;
    case kBindWindow:
      return CoverageEvent::kBindCompleted;
    case kReceive:
      return CoverageEvent::kReceiveCompleted;
    case kReceiveRdmaWithImmediate:
      return CoverageEvent::kReceiveWithImmediateCompleted;
  }
  return std::nullopt;
}

std::optional<CoverageEvent> coverage_event_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kWorkRequestFlushed:
      return CoverageEvent::kFlushed;
    case CompletionStatus::kLocalLengthError:
      return CoverageEvent::kLocalLengthError;
    case CompletionStatus::kLocalProtectionError:
      return CoverageEvent::kLocalProtectionError;
    case CompletionStatus::kLocalAccessError:
      return CoverageEvent::kLocalAccessError;
    case CompletionStatus::kRemoteInvalidRequest:
      return CoverageEvent::kRemoteInvalidRequest;
    case CompletionStatus::kRemoteAccessError:
      return CoverageEvent::kRemoteAccessError;
    case CompletionStatus::kRemoteOperationError:
      return CoverageEvent::kRemoteOperationError;
    case CompletionStatus::kRetryExceeded:
      return CoverageEvent::kRetryExceeded;
    case CompletionStatus::kRnrRetryExceeded:
      return CoverageEvent::kRnrRetryExceeded;
    case CompletionStatus::kLocalQpOperationError:
      return CoverageEvent::kLocalQpOperationError;
    case CompletionStatus::kMemoryWindowBindError:
      return CoverageEvent::kWindowBindError;
    default:
      return std::nullopt;
  }
}

bool expects_answer(const Operation& operation) {
  return operation.brings_data() || operation.kind == SendOperation::kFlush ||
         operation.kind == SendOperation::kAtomicWrite;
}

}  // namespace

void EndpointDriver::on_completion(const transport::Completion& completion) {
  scene_.referee.note_progress();
  const bool is_receive = (completion.wr_id & kReceiveBit) != 0;
  const bool is_success = completion.status == CompletionStatus::kSuccess;
  if (const auto event =
          is_success ? coverage_event_of(completion.opcode) : coverage_event_of(completion.status)) {
    scene_.coverage.add(*event);
  }
  if (!is_success) is_receive ? judge_receive_failure(completion) : judge_send_failure(completion);
  if (!is_success && completion.status != CompletionStatus::kWorkRequestFlushed) {
    flush_without_reason_.reset();
  }
  ended_.clear();
  // Which receives of a shared queue are this queue pair's shows when they complete.
  if (is_receive && is_shared_receive(completion.wr_id)) receives_.on_posted(completion.wr_id);
  const auto complaint =
      is_receive ? receives_.on_completion(completion, ended_) : sends_.on_completion(completion, ended_);
  if (complaint) {
    complain("completions", *complaint);
    return;
  }
  for (const Ended& ended : ended_) is_receive ? on_receive_ended(ended) : on_send_ended(ended);
}

void EndpointDriver::on_send_ended(const Ended& ended) {
  const Operation& operation = operation_of(ended.wr_id);
  end_use_of_key(operation, progress_of(operation));
  if (ended.how == Ended::How::kSucceeded) {
    on_succeeded(operation);
  } else {
    on_not_succeeded(operation);
  }
}

void EndpointDriver::on_succeeded(const Operation& operation) {
  scene_.coverage.add(CoverageEvent::kOperations);
  if (is_xrc()) scene_.coverage.add(CoverageEvent::kXrcCompleted);
  // The answer says that all WRITEs before the request are in memory.
  if (expects_answer(operation)) judge_late_writes_before(operation.id);
  Progress& progress = progress_of(operation);
  progress.succeeded = true;
  if (operation.violation) {
    complain("completions", fmt::format("work request {} succeeded, but: {}", operation.id,
                                        to_string(*operation.violation)));
    return;
  }
  if (operation.is_atomic()) return on_atomic_succeeded(operation);
  if (operation.kind == SendOperation::kBindWindow) {
    cut_users_off(operation.window);
    windows_.on_bound(operation.window);
  } else if (operation.kind == SendOperation::kLocalInvalidate) {
    cut_users_off(Windows::kType2);
    windows_.on_taken_back();
  } else if (operation.places_data()) {
    on_write_succeeded(operation, progress);
  } else if (operation.is_read() && progress.expects_data) {
    settle(host_, operation.local, progress.brings, operation);
  } else if (operation.is_read()) {
    for (const Range& piece : operation.local) host_.memory().settle_as_is(piece);
  }
  // From here on the NIC must not touch any of this memory, whatever the network still holds.
  if (!operation.is_inline) maybe_scribble(host_, operation.local);
  const bool is_late = !late_writes_.empty() && late_writes_.back().wr_id == operation.id;
  if ((operation.places_data() || operation.is_read()) && !operation.in_chain && !is_late) {
    maybe_scribble(peer_host_, {operation.remote});
  }
}

void EndpointDriver::on_write_succeeded(const Operation& operation, const Progress& progress) {
  if (progress.stood_there) {
    if (*progress.stood_there || progress.overwritten) return;
    complain("memory",
             fmt::format("{} {} succeeded though its data did not stand there when its key was taken back",
                         to_string(operation.kind), operation.id));
  } else if (progress.overwritten) {
    peer_host_.memory().settle_as_is(operation.remote);
  } else if (operation.is_write() && scene_.options.places_late(peer_host_.id())) {
    late_writes_.push_back({.wr_id = operation.id, .due = scene_.now() + kLatestPlacement});
    const std::size_t first = first_mismatch(peer_host_.memory().at(operation.remote), progress.brings);
    scene_.coverage.add(CoverageEvent::kPlacedLate, first < operation.remote.length ? 1 : 0);
  } else {
    settle(peer_host_, {operation.remote}, progress.brings, operation);
  }
}

void EndpointDriver::judge_late_writes() {
  while (!late_writes_.empty()) judge_oldest_late_write();
}

void EndpointDriver::judge_late_writes_before(std::uint64_t wr_id) {
  while (!late_writes_.empty() && late_writes_.front().wr_id < wr_id) judge_oldest_late_write();
}

/// Until now the peer's program has left the place alone.
void EndpointDriver::judge_oldest_late_write() {
  const Operation& operation = operation_of(late_writes_.front().wr_id);
  late_writes_.pop_front();
  const Progress& progress = progress_of(operation);
  if (progress.overwritten) {
    peer_host_.memory().settle_as_is(operation.remote);
  } else {
    settle(peer_host_, {operation.remote}, progress.brings, operation);
  }
  if (!operation.in_chain) maybe_scribble(peer_host_, {operation.remote});
}

/// The peer's program has polled the receive of our message: the bytes of all our WRITEs before it are there,
/// whether we know already that they were acknowledged or not.
void EndpointDriver::judge_writes_before(const Operation& message) {
  judge_late_writes_before(message.id);
  for (; own_.operations[first_unjudged_].id < message.id; ++first_unjudged_) {
    const Operation& operation = own_.operations[first_unjudged_];
    const Progress& progress = progress_of(operation);
    const bool is_known = progress.succeeded || progress.overwritten || progress.stood_there;
    const bool is_posted = progress.connection == connection_ && !operation.violation;
    if (!operation.places_data() || is_known || !is_posted) continue;
    const std::size_t wrong = first_mismatch(peer_host_.memory().at(operation.remote), progress.brings);
    if (wrong == operation.remote.length) continue;
    complain("memory",
             fmt::format("byte {} of {} {} is not in memory of {} though {} {} after it was received", wrong,
                         to_string(operation.kind), operation.id, name(peer_host_.id()),
                         to_string(message.kind), message.id));
  }
}

void EndpointDriver::on_atomic_succeeded(const Operation& operation) {
  std::array<std::byte, 8> found{};
  std::size_t size = 0;
  for (const Range& piece : operation.local) {
    const auto bytes = host_.memory().at(piece);
    std::copy(bytes.begin(), bytes.end(), found.begin() + static_cast<std::ptrdiff_t>(size));
    size += piece.length;
    host_.memory().settle_as_is(piece);
  }
  std::uint64_t original = 0;
  std::memcpy(&original, found.data(), sizeof original);
  const bool changed = peer_host_.atomics(operation.remote.offset).on_succeeded(operation.id, original);
  if (changed && operation.kind == SendOperation::kCompareSwap) scene_.coverage.add(CoverageEvent::kSwapped);
  maybe_scribble(host_, operation.local);
}

void EndpointDriver::on_not_succeeded(const Operation& operation) {
  const Progress& progress = progress_of(operation);
  if (operation.is_atomic() && (!operation.violation || operation.violation == Violation::kUnknownLkey)) {
    undetermined_atomics_.push_back(operation.id);
  }
  if (operation.violation && !operation.may_bring_a_part()) return;
  if (operation.places_data() && !progress.stood_there) undetermined_.push_back(operation.remote);
  if (operation.brings_data()) {
    for (const Range& piece : operation.local) host_.memory().settle_as_is(piece);
  }
}

void EndpointDriver::on_receive_ended(const Ended& ended) {
  if (is_shared_receive(ended.wr_id)) return on_shared_receive_ended(ended);
  const Receive& receive = receive_of(ended.wr_id);
  const Operation& operation = peers_.operations[receive.operation];
  const std::vector<Range> pieces = written_part(receive);
  if (ended.how == Ended::How::kSucceeded) {
    settle(host_, pieces, Pattern{operation.id}, operation);
    maybe_scribble(host_, pieces);
    on_received(operation);
  } else {
    for (const Range& piece : pieces) host_.memory().settle_as_is(piece);
  }
}

void EndpointDriver::on_shared_receive_ended(const Ended& ended) {
  scene_.coverage.add(is_xrc() ? CoverageEvent::kXrcReceiveCompleted
                               : CoverageEvent::kSharedReceiveCompleted);
  std::optional<SharedReceives::Data> data;
  if (ended.how == Ended::How::kSucceeded) {
    const Operation& operation = peers_.operations[peers_.receives[next_receive_++].operation];
    data = {.pattern = Pattern{operation.id}, .length = operation.is_send() ? operation.length : 0};
    on_received(operation);
    const std::size_t named = is_xrc() ? 1 + operation.xrc_queue : 0;
    if (shared_queue_of(ended.wr_id) != named) {
      complain("completions", fmt::format("received from shared queue {} instead of {}",
                                          shared_queue_of(ended.wr_id), named));
    }
  }
  complete_shared(scene_, host_.id(), ended.wr_id, data);
}

void EndpointDriver::on_received(const Operation& operation) {
  peer_->judge_writes_before(operation);
  FlowObserver& flow = scene_.observer.flow(pair_, other(side_));
  const Attachment& port = host_.attachment();
  if (auto complaint = flow.on_receive_completed(std::max(port.full_until, port.crowded_until))) {
    missing_acknowledgement_ = std::move(complaint);
  }
  if (peer_->progress_of(operation).posted_as != SendOperation::kSendWithInvalidate) return;
  scene_.coverage.add(CoverageEvent::kReceiveWithInvalidateCompleted);
  cut_users_off(Windows::kType2);
  windows_.on_taken_back();
}

// A queue pair that fails says nothing any more; its failure may be polled after the receive.
void EndpointDriver::on_polled() {
  const bool has_ended = missing_acknowledgement_ && responder().query().state == transport::QpState::kError;
  if (missing_acknowledgement_ && !has_ended && !flush_is_legitimate()) {
    complain("wire", *missing_acknowledgement_);
  }
  missing_acknowledgement_.reset();
  while (!peer_->late_writes_.empty() && peer_->late_writes_.front().due <= scene_.now()) {
    peer_->judge_oldest_late_write();
  }
  judge_reports();
  judge_drained();
}

/// What this end must report by itself with selective repeat, and nothing else would make it say.
void EndpointDriver::judge_reports() {
  const Duration silence = scene_.observer.flow(pair_, other(side_)).longest_silence();
  if (silence <= longest_silence() || responder().query().state == transport::QpState::kError) return;
  if (flush_is_legitimate()) return;
  complain("wire", fmt::format("did not report for {} us what came out of order", silence.count() / 1000));
}

/// SQ_DRAINED comes once if the program asked for it, in SQD, and when everything that was begun is done.
void EndpointDriver::judge_drained() {
  const std::uint32_t events = host_.events(pair_).send_queue_drained;
  if (events == drained_.seen) return;
  scene_.coverage.add(CoverageEvent::kSendQueueDrained, events - drained_.seen);
  drained_.seen = events;
  if (events > drained_.expected) {
    complain("events", fmt::format("SQ_DRAINED came {} times and should have {}", events, drained_.expected));
  } else if (!is_draining_) {
    complain("events", "SQ_DRAINED came though the queue pair has left SQD");
  } else if (!scene_.observer.flow(pair_, side_).is_drained()) {
    complain("events", "SQ_DRAINED came while something was under way");
  }
}

void EndpointDriver::begin_draining(bool notify) {
  is_draining_ = true;
  drained_.expected += notify ? 1 : 0;
  scene_.coverage.add(sends_.outstanding() > 0 ? CoverageEvent::kDrainedInUse : CoverageEvent::kDrainedIdle);
  scene_.observer.flow(pair_, side_).on_draining(true);
}

/// Without waiting for the event, perhaps: then it must not come any more. It may have come since the last
/// poll.
void EndpointDriver::end_draining() {
  judge_drained();
  is_draining_ = false;
  drained_.expected = drained_.seen;
  scene_.observer.flow(pair_, side_).on_draining(false);
}

void EndpointDriver::on_flushed() {
  ended_.clear();
  if (const auto complaint = sends_.on_flushed(ended_)) complain("completions", *complaint);
  if (const auto complaint = receives_.on_flushed()) complain("completions", *complaint);
  for (const Ended& ended : ended_) on_send_ended(ended);
  judge_late_writes();
  if (flush_without_reason_) complain("completions", *flush_without_reason_);
  // Only who shares a receive queue needs to be told that it takes nothing any more.
  const std::uint32_t last = host_.events(pair_).last_wqe_reached;
  scene_.coverage.add(CoverageEvent::kLastWqeReached, last);
  if (last != (shares_receives_ ? 1u : 0u)) {
    complain("events", fmt::format("LAST_WQE_REACHED came {} times", last));
  }
  for (const Range& range : undetermined_) peer_host_.memory().settle_as_is(range);
  undetermined_.clear();
  for (const std::uint64_t wr_id : undetermined_atomics_) {
    peer_host_.atomics(operation_of(wr_id).remote.offset).on_failed(wr_id);
  }
  undetermined_atomics_.clear();
}

void EndpointDriver::renew_windows() {
  windows_.renew();
}

// ---------------------------------------------------------------------------------------------------------
// Keys: whose key is taken back may be refused; once that is done, nothing is written through it any more

void EndpointDriver::end_use_of_key(const Operation& operation, const Progress& progress) {
  if (progress.uses_volatile_key) scene_.machine(peer_host_.id()).volatile_key->remove_user(operation.id);
  if (progress.window) std::erase(peer_->windows_.at(*progress.window).users, operation.id);
}

void EndpointDriver::note_users_at_risk(std::size_t window) {
  for (const std::uint64_t wr_id : windows_.at(window).users) {
    peer_->progress_of(peer_->operation_of(wr_id)).key_is_going = true;
    scene_.coverage.add(CoverageEvent::kKeyTakenBackInFlight);
  }
}

void EndpointDriver::cut_users_off(std::size_t window) {
  for (const std::uint64_t wr_id : windows_.at(window).users) peer_->on_key_gone(wr_id);
  windows_.at(window).users.clear();
}

void EndpointDriver::on_key_gone(std::uint64_t wr_id) {
  const Operation& operation = operation_of(wr_id);
  Progress& progress = progress_of(operation);
  progress.window.reset();
  progress.key_is_going = true;
  if (!operation.places_data()) return;
  MemoryModel& memory = peer_host_.memory();
  progress.stood_there =
      first_mismatch(memory.at(operation.remote), progress.brings) == operation.remote.length;
  memory.settle_as_is(operation.remote);
}

// ---------------------------------------------------------------------------------------------------------

void EndpointDriver::settle(Host& host, const std::vector<Range>& pieces, Pattern pattern,
                            const Operation& operation) {
  std::uint64_t position = 0;
  for (const Range& piece : pieces) {
    if (const auto complaint = host.memory().settle(piece, pattern, position)) {
      complain("memory", fmt::format("after {} {} of {} bytes, memory of {}: {}", to_string(operation.kind),
                                     operation.id, operation.length, name(host.id()), *complaint));
    }
    position += piece.length;
  }
}

void EndpointDriver::maybe_scribble(Host& host, const std::vector<Range>& pieces) {
  if (!scene_.random.chance(0.5)) return;
  for (const Range& piece : pieces) host.memory().write(piece, Pattern{scene_.random.next()});
}

}  // namespace urnic::sim
