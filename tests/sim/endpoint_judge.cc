// The part of EndpointDriver that asks failures for their reasons.
#include <fmt/format.h>

#include "tests/sim/endpoint_driver.h"

namespace urnic::sim {

using transport::CompletionStatus;

void EndpointDriver::judge_send_failure(const transport::Completion& completion) {
  const FlowObserver& flow = scene_.observer.flow(pair_, side_);
  const auto rewinds = flow.rewinds_since_progress();
  const auto rnr_naks = flow.rnr_naks_since_progress();
  switch (completion.status) {
    case CompletionStatus::kWorkRequestFlushed:
      if (!sends_.has_failed() && !flush_is_legitimate())
        complain("completions", "a send was flushed without a reason");
      return;
    case CompletionStatus::kRetryExceeded:
      if (rewinds < scene_.options.retry_count) {
        complain("wire", fmt::format("gave up after {} of {} retries", rewinds, scene_.options.retry_count));
      }
      if (scene_.options.is_peaceful()) complain("liveness", "retries exceeded on a network without faults");
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
  const bool key_is_going = is_ours && progress_of(operation_of(completion.wr_id)).key_is_going;
  if (key_is_going && completion.status == CompletionStatus::kRemoteAccessError) return;
  if (!violation || status_of(*violation) != completion.status) {
    complain("completions",
             fmt::format("work request {} ended with {}{}{}", completion.wr_id, to_string(completion.status),
                         violation ? ", but what is wrong with it is: " : ", but nothing is wrong with it",
                         violation ? to_string(*violation) : ""));
  }
}

void EndpointDriver::judge_receive_failure(const transport::Completion& completion) {
  if (completion.status == CompletionStatus::kWorkRequestFlushed) {
    if (!has_failed() && !flush_is_legitimate())
      complain("completions", "a receive was flushed without a reason");
    return;
  }
  const std::size_t index = completion.wr_id & 0xffffffffu;
  const auto violation = index < peers_.receives.size()
                             ? peers_.operations[peers_.receives[index].operation].violation
                             : std::nullopt;
  if (!violation || receive_status_of(*violation) != completion.status) {
    complain("completions",
             fmt::format("a receive ended with {} without a reason", to_string(completion.status)));
  }
}

bool EndpointDriver::flush_is_legitimate() {
  return flush_is_expected_ || has_failed() || scene_.observer.flow(pair_, other(side_)).has_refused();
}

}  // namespace urnic::sim
