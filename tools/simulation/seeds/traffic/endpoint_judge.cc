// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The part of EndpointDriver that asks failures for their reasons.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <variant>

#include "tools/simulation/seeds/traffic/endpoint_driver.h"
#include "tools/simulation/seeds/traffic/shared_receives.h"

namespace urnic::sim {

using transport::CompletionStatus;

void EndpointDriver::judge_send_failure(const transport::Completion& completion) {
  const FlowObserver& flow = scene_.observer.flow(pair_, side_);
  const auto [rewinds, rnr_naks] = flow.attempts_since_progress();
  switch (completion.status) {
    case CompletionStatus::kWorkRequestFlushed:
      if (!sends_.has_failed()) judge_flush("a send was flushed without a reason");
      return;
    case CompletionStatus::kRetryExceeded:
      if (rewinds + host_.packets_without_neighbor() < scene_.options.retry_count) {
        complain("wire", fmt::format("gave up after {} of {} retries", rewinds, scene_.options.retry_count));
      }
      if (const auto silence = peer_is_well() ? silence_of_responder() : Duration(0);
          silence > peer_->longest_silence()) {
        complain(
            "wire",
            fmt::format("retries exceeded because the responder has not acknowledged for {} us what it took",
                        silence.count() / 1000));
      }
      if (must_succeed()) complain("liveness", "retries exceeded on a network without faults");
      return;
    case CompletionStatus::kRnrRetryExceeded:
      if (rnr_naks <= scene_.options.rnr_retry || scene_.options.rnr_retry == 7) {
        complain("wire", fmt::format("gave up after {} RNR NAKs with rnr_retry {}", rnr_naks,
                                     scene_.options.rnr_retry));
      }
      return;
    default:
      break;
  }
  const bool is_ours = completion.wr_id >= own_.operations.front().id &&
                       completion.wr_id - own_.operations.front().id < own_.operations.size();
  const auto violation = is_ours ? operation_of(completion.wr_id).violation : std::nullopt;
  if (violation == Violation::kUnknownSrq) scene_.coverage.add(CoverageEvent::kUnknownXrcQueue);
  const bool key_is_going = is_ours && progress_of(operation_of(completion.wr_id)).key_is_going;
  if (key_is_going && completion.status == CompletionStatus::kRemoteAccessError) return;
  if (!violation || status_of(*violation) != completion.status) {
    complain("completions",
             fmt::format("work request {} ended with {}{}{}", completion.wr_id, name_of(completion.status),
                         violation ? ", but what is wrong with it is: " : ", but nothing is wrong with it",
                         violation ? to_string(*violation) : ""));
  }
}

void EndpointDriver::judge_receive_failure(const transport::Completion& completion) {
  if (completion.status == CompletionStatus::kWorkRequestFlushed) {
    if (!has_failed()) judge_flush("a receive was flushed without a reason");
    return;
  }
  // What comes out of a shared queue is for the next message.
  const std::size_t index =
      is_shared_receive(completion.wr_id) ? next_receive_ : completion.wr_id & 0xffffffffu;
  const Operation* const operation =
      index < peers_.receives.size() ? &peers_.operations[peers_.receives[index].operation] : nullptr;
  if (completion.status == CompletionStatus::kLocalAccessError && operation != nullptr &&
      operation->is_write() && may_lack_access(*operation)) {
    return;
  }
  const auto violation = operation != nullptr ? operation->violation : std::nullopt;
  if (!violation || receive_status_of(*violation) != completion.status) {
    complain("completions",
             fmt::format("receive {}, for work request {}, ended with {} without a reason", index,
                         operation != nullptr ? operation->id : 0, name_of(completion.status)));
  }
}

/// Whether a request of the peer's names memory that it must not, or may not any more, reach.
bool EndpointDriver::may_lack_access(const Operation& operation) const {
  if (operation.violation) return status_of(*operation.violation) == CompletionStatus::kRemoteAccessError;
  const Progress& progress = peer_->progress_of(operation);
  // A requester that has failed is no user of the key any more, and what it sent may still come.
  const bool may_come_late = peer_->has_failed() && (progress.uses_volatile_key || progress.window);
  return progress.key_is_going || may_come_late;
}

// Once the faults have stopped and all retries that began before are used up, only a peer that has failed
// says nothing.
bool EndpointDriver::must_succeed() const {
  const Options& options = scene_.options;
  const Duration settling = options.max_frame_age() +
                            (options.retry_count + 2) * options.effective_ack_timeout() +
                            2 * options.rnr_delay();
  const bool is_calm =
      scene_.faults_stopped != transport::kNever && scene_.now() > scene_.faults_stopped + settling;
  if (!options.is_peaceful() && !is_calm) return false;
  return peer_is_well();
}

bool EndpointDriver::peer_is_well() const {
  return !peer_->has_failed() && !peer_->flush_is_expected_ &&
         !scene_.observer.flow(pair_, side_).has_refused();
}

Duration EndpointDriver::silence_of_responder() const {
  const Time since = scene_.observer.flow(pair_, side_).acknowledgement_pending_since();
  return since == transport::kNever ? Duration(0) : scene_.now() - since;
}

/// A host may stall, its port be full for a while, and a paused network hold the port up. Where it has a
/// controller, what stands after READ data waits with these: two packets of 4096 bytes take 66 ms at the 1
/// Mb/s that others have at the least, and with swift, at its least window, hundreds of round trips.
Duration EndpointDriver::longest_silence() const {
  const Duration longest = 2 * scene_.options.stall_time + host_.attachment().held_up();
  const auto& controller = scene_.options.congestion[index(host_.id())];
  if (controller.is_none()) return longest + std::chrono::milliseconds(2);
  const bool is_swift = std::holds_alternative<transport::congestion::SwiftParameters>(controller.parameters);
  return longest + std::chrono::milliseconds(is_swift ? 1000 : 70);
}

/// Completions of different queues have no order: with an adversary the failure may be seen after the flush.
void EndpointDriver::judge_flush(const char* complaint) {
  if (flush_is_legitimate()) return;
  if (!scene_.options.has_adversary(host_.id())) return complain("completions", complaint);
  flush_without_reason_ = complaint;
  scene_.coverage.add(CoverageEvent::kFlushedBeforeFailure);
}

bool EndpointDriver::flush_is_legitimate() {
  return flush_is_expected_ || has_failed() || scene_.observer.flow(pair_, other(side_)).has_refused() ||
         may_have_failed_silently();
}

/// A SEND that cannot invalidate ends the connection of its receiver, and nothing on the wire says so; the
/// receiver's sends may be polled before its receive.
bool EndpointDriver::may_have_failed_silently() {
  return std::any_of(peers_.operations.begin(), peers_.operations.end(), [this](const Operation& operation) {
    return operation.violation == Violation::kBadInvalidation &&
           peer_->progress_of(operation).connection == connection_;
  });
}

}  // namespace urnic::sim
