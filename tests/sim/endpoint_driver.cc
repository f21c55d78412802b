#include "tests/sim/endpoint_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace urnic::sim {
namespace {

using transport::CompletionStatus;
using transport::SendOperation;

constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63;

transport::CompletionOpcode send_opcode(const Operation& operation) {
  if (operation.is_write()) return transport::CompletionOpcode::kRdmaWrite;
  return operation.kind == SendOperation::kRead ? transport::CompletionOpcode::kRdmaRead
                                                : transport::CompletionOpcode::kSend;
}

std::optional<Happening> happening_of(transport::CompletionOpcode opcode) {
  switch (opcode) {
    case transport::CompletionOpcode::kSend:
      return Happening::kSendCompleted;
    case transport::CompletionOpcode::kRdmaWrite:
      return Happening::kWriteCompleted;
    case transport::CompletionOpcode::kRdmaRead:
      return Happening::kReadCompleted;
    case transport::CompletionOpcode::kReceive:
      return Happening::kReceiveCompleted;
    case transport::CompletionOpcode::kReceiveRdmaWithImmediate:
      return Happening::kReceiveWithImmediateCompleted;
    default:
      return std::nullopt;
  }
}

std::optional<Happening> happening_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kWorkRequestFlushed:
      return Happening::kFlushed;
    case CompletionStatus::kLocalLengthError:
      return Happening::kLocalLengthError;
    case CompletionStatus::kLocalProtectionError:
      return Happening::kLocalProtectionError;
    case CompletionStatus::kRemoteInvalidRequest:
      return Happening::kRemoteInvalidRequest;
    case CompletionStatus::kRemoteAccessError:
      return Happening::kRemoteAccessError;
    case CompletionStatus::kRemoteOperationError:
      return Happening::kRemoteOperationError;
    case CompletionStatus::kRetryExceeded:
      return Happening::kRetryExceeded;
    case CompletionStatus::kRnrRetryExceeded:
      return Happening::kRnrRetryExceeded;
    default:
      return std::nullopt;
  }
}

/// Where the remote side of an operation that breaks a rule begins; others are where the plan put them.
Range remote_range(const Operation& operation, const MemoryModel& responder) {
  Range range = operation.remote;
  if (operation.violation == Violation::kBeyondEnd) {
    range = {.region = Region::kShared,
             .offset = responder.size(Region::kShared) - operation.length + 1,
             .length = operation.length};
  }
  return range;
}

}  // namespace

EndpointDriver::EndpointDriver(Scene& scene, std::uint32_t pair, Side side, const Plan& own, const Plan& peers)
    : scene_(scene),
      pair_(pair),
      side_(side),
      host_(scene.host(side)),
      peer_host_(scene.host(other(side))),
      own_(own),
      peers_(peers),
      qp_(host_.create_qp(pair)),
      progress_(own.operations.size()) {}

EndpointDriver::~EndpointDriver() { host_.device().destroy_qp(std::move(qp_)); }

void EndpointDriver::on_connected() {
  ++connection_;
  sends_ = SendCompletions();
  receives_ = ReceiveCompletions(qp_number(), peer_->qp_number());
  flush_is_expected_ = false;
  // Receives of operations that will not be posted any more are left out.
  next_receive_ = static_cast<std::size_t>(
      std::partition_point(peers_.receives.begin(), peers_.receives.end(),
                           [this](const Receive& receive) { return receive.operation < peer_->next_operation_; }) -
      peers_.receives.begin());
}

// ---------------------------------------------------------------------------------------------------------
// Posting

// A work request takes room in its completion queue until its completion is polled, and in its own queue only until the NIC
// is done with it. Programs count; otherwise completion queues overrun.
bool EndpointDriver::post_sends(std::uint32_t most) {
  const std::size_t before = next_operation_;
  {
    nic::QueuePair::SendBatch batch(*qp_);
    for (; most > 0 && !has_posted_all() && sends_.signaled_outstanding() < scene_.options.send_depth; --most) {
      if (!post(batch, own_.operations[next_operation_])) break;
      ++next_operation_;
      scene_.referee.note_progress();
    }
  }
  scene_.ring(side_);
  return next_operation_ != before;
}

bool EndpointDriver::post(nic::QueuePair::SendBatch& batch, const Operation& operation) {
  // The data must stand there before the NIC can see the work request. If the queue turns out to be full, it does no harm.
  prepare_memory(operation);
  std::vector<transport::Sge> sges;
  for (const Range& piece : operation.local) {
    sges.push_back(operation.is_inline ? host_.plain_sge(piece)
                                       : host_.sge(piece, operation.violation == Violation::kUnknownLkey));
  }
  const auto status = operation.is_inline ? batch.post_inline(request(operation), sges) : batch.post(request(operation), sges);
  if (status == nic::PostStatus::kQueueFull && sends_.outstanding() > 0) return false;
  if (status != nic::PostStatus::kPosted) {
    complain("posting", fmt::format("{} was refused with {} and {} outstanding", to_string(operation.kind),
                                    static_cast<int>(status), sends_.outstanding()));
    return false;
  }
  announce(operation);
  return true;
}

void EndpointDriver::prepare_memory(const Operation& operation) {
  const Pattern pattern{operation.id};
  if (operation.kind == SendOperation::kRead) {
    if (!operation.violation && !operation.reads_chain) peer_host_.memory().write(operation.remote, pattern);
    return;
  }
  std::uint64_t position = 0;
  for (const Range& piece : operation.local) {
    host_.memory().write(piece, pattern, position);
    position += piece.length;
  }
}

transport::SendRequest EndpointDriver::request(const Operation& operation) const {
  transport::SendRequest request{.wr_id = operation.id,
                                 .operation = operation.kind,
                                 .signaled = operation.signaled,
                                 .solicited = operation.solicited,
                                 .fence = operation.fence,
                                 .immediate = operation.immediate};
  if (operation.is_send()) return request;
  const Range range = remote_range(operation, peer_host_.memory());
  request.remote_address = peer_host_.address(range);
  request.rkey = peer_host_.rkey(range.region);
  if (operation.violation == Violation::kUnknownRkey) request.rkey = peer_host_.unknown_rkey();
  if (operation.violation == Violation::kStaleRkey) request.rkey = peer_host_.stale_rkey();
  if (operation.violation == Violation::kWrongPd) request.rkey = peer_host_.other_pd_rkey();
  return request;
}

/// Tells the oracles about an operation that was posted.
void EndpointDriver::announce(const Operation& operation) {
  Progress& progress = progress_of(operation);
  progress.connection = connection_;
  progress.brings = Pattern{operation.id};
  note_chain(operation);
  sends_.on_posted({.wr_id = operation.id,
                    .opcode = send_opcode(operation),
                    .byte_length = operation.length,
                    .signaled = operation.signaled});
  scene_.observer.flow(pair_, side_).on_posted(operation.fence);
  if (operation.consumes_receive()) {
    peer_->receives_.on_message_posted(
        {.opcode = operation.is_send() ? transport::CompletionOpcode::kReceive
                                       : transport::CompletionOpcode::kReceiveRdmaWithImmediate,
         .byte_length = operation.length,
         .immediate = operation.has_immediate() ? std::optional(operation.immediate) : std::nullopt,
         .solicited = operation.solicited});
  }
  if (operation.is_inline) {
    maybe_scribble(host_, operation.local);  // inline data was copied
  }
  if (operation.violation) return;  // it must not touch any memory
  if (operation.is_write()) peer_host_.memory().begin(operation.remote);
  if (operation.kind == SendOperation::kRead) {
    for (const Range& piece : operation.local) host_.memory().begin(piece);
  }
}

void EndpointDriver::note_chain(const Operation& operation) {
  for (std::size_t i = next_operation_; i-- > 0;) {
    const Operation& before = own_.operations[i];
    const bool is_chained = before.in_chain && before.remote.region == operation.remote.region &&
                            before.remote.offset == operation.remote.offset;
    if (!is_chained || operation.is_send()) continue;
    if (operation.is_write()) {
      progress_of(before).overwritten = true;
    } else {
      // What a failed connection left there is not known.
      progress_of(operation).expects_data = progress_of(before).succeeded || progress_of(before).connection == connection_;
      progress_of(operation).brings = Pattern{before.id};
    }
    return;
  }
}

bool EndpointDriver::post_receives() {
  const std::size_t before = next_receive_;
  {
    nic::QueuePair::ReceiveBatch batch(*qp_);
    while (has_receives_to_post() && receives_.outstanding() < scene_.options.receive_depth) {
      const Receive& receive = peers_.receives[next_receive_];
      std::vector<transport::Sge> sges;
      for (const Range& piece : receive.buffer) sges.push_back(host_.sge(piece, receive.unknown_lkey));
      const std::uint64_t wr_id = kReceiveBit | std::uint64_t{connection_} << 32 | next_receive_;
      const auto status = batch.post({.wr_id = wr_id}, sges);
      if (status == nic::PostStatus::kQueueFull && receives_.outstanding() > 0) break;
      if (status != nic::PostStatus::kPosted) {
        complain("posting", fmt::format("a receive was refused with {}", static_cast<int>(status)));
        break;
      }
      receives_.on_posted(wr_id);
      for (const Range& piece : written_part(receive)) host_.memory().begin(piece);
      ++next_receive_;
    }
  }
  scene_.ring(side_);
  return next_receive_ != before;
}

/// What of a receive's buffer the message for it fills.
std::vector<Range> EndpointDriver::written_part(const Receive& receive) const {
  const Operation& operation = peers_.operations[receive.operation];
  std::uint32_t left = operation.is_send() && !receive.unknown_lkey ? operation.length : 0;
  std::vector<Range> pieces = receive.buffer;
  for (Range& piece : pieces) {
    piece.length = std::min(piece.length, left);
    left -= piece.length;
  }
  return pieces;
}

// ---------------------------------------------------------------------------------------------------------
// Completions

void EndpointDriver::on_completion(const transport::Completion& completion) {
  scene_.referee.note_progress();
  const bool is_receive = (completion.wr_id & kReceiveBit) != 0;
  const bool is_success = completion.status == CompletionStatus::kSuccess;
  if (const auto happening = is_success ? happening_of(completion.opcode) : happening_of(completion.status)) {
    scene_.coverage.add(*happening);
  }
  if (!is_success) {
    is_receive ? judge_receive_failure(completion) : judge_send_failure(completion);
  }
  ended_.clear();
  const auto complaint =
      is_receive ? receives_.on_completion(completion, ended_) : sends_.on_completion(completion, ended_);
  if (complaint) {
    complain("completions", *complaint);
    return;
  }
  for (const Ended& ended : ended_) {
    is_receive ? on_receive_ended(ended) : on_send_ended(ended);
  }
}

void EndpointDriver::on_send_ended(const Ended& ended) {
  const Operation& operation = operation_of(ended.wr_id);
  if (ended.how == Ended::How::kSucceeded) {
    on_succeeded(operation);
  } else {
    on_not_succeeded(operation);
  }
}

void EndpointDriver::on_succeeded(const Operation& operation) {
  scene_.coverage.add(Happening::kOperations);
  Progress& progress = progress_of(operation);
  progress.succeeded = true;
  if (operation.violation) {
    complain("completions", fmt::format("work request {} succeeded, but: {}", operation.id, to_string(*operation.violation)));
    return;
  }
  if (operation.kind == SendOperation::kRead) {
    if (progress.expects_data) {
      settle(host_, operation.local, progress.brings, operation);
    } else {
      for (const Range& piece : operation.local) host_.memory().settle_as_is(piece);
    }
  } else if (operation.is_write() && progress.overwritten) {
    peer_host_.memory().settle_as_is(operation.remote);
  } else if (operation.is_write()) {
    settle(peer_host_, {operation.remote}, progress.brings, operation);
  }
  // From here on the NIC has no business with any of this memory, whatever the network still holds.
  if (!operation.is_inline) maybe_scribble(host_, operation.local);
  if (!operation.is_send() && !operation.in_chain) maybe_scribble(peer_host_, {operation.remote});
}

void EndpointDriver::on_not_succeeded(const Operation& operation) {
  if (operation.violation) return;
  if (operation.is_write()) undetermined_.push_back(operation.remote);
  if (operation.kind == SendOperation::kRead) {
    for (const Range& piece : operation.local) host_.memory().settle_as_is(piece);
  }
}

void EndpointDriver::on_receive_ended(const Ended& ended) {
  const Receive& receive = receive_of(ended.wr_id);
  const Operation& operation = peers_.operations[receive.operation];
  const std::vector<Range> pieces = written_part(receive);
  if (ended.how == Ended::How::kSucceeded) {
    if (auto complaint = scene_.observer.flow(pair_, other(side_)).on_receive_completed(scene_.now())) {
      missing_acknowledgement_ = std::move(complaint);
    }
    settle(host_, pieces, Pattern{operation.id}, operation);
    maybe_scribble(host_, pieces);
  } else {
    for (const Range& piece : pieces) host_.memory().settle_as_is(piece);
  }
}

// A queue pair that fails says nothing any more; its failure may have been polled after the receive.
void EndpointDriver::on_polled() {
  if (missing_acknowledgement_ && !flush_is_legitimate()) complain("wire", *missing_acknowledgement_);
  missing_acknowledgement_.reset();
}

void EndpointDriver::on_flushed() {
  ended_.clear();
  if (const auto complaint = sends_.on_flushed(ended_)) complain("completions", *complaint);
  if (const auto complaint = receives_.on_flushed()) complain("completions", *complaint);
  for (const Ended& ended : ended_) on_send_ended(ended);
  for (const Range& range : undetermined_) peer_host_.memory().settle_as_is(range);
  undetermined_.clear();
}

// ---------------------------------------------------------------------------------------------------------
// Judging failures: each needs a reason

void EndpointDriver::judge_send_failure(const transport::Completion& completion) {
  const FlowObserver& flow = scene_.observer.flow(pair_, side_);
  const auto rewinds = flow.rewinds_since_progress();
  const auto rnr_naks = flow.rnr_naks_since_progress();
  switch (completion.status) {
    case CompletionStatus::kWorkRequestFlushed:
      if (!sends_.has_failed() && !flush_is_legitimate()) complain("completions", "a send was flushed without a reason");
      return;
    case CompletionStatus::kRetryExceeded:
      if (rewinds < scene_.options.retry_count) {
        complain("wire", fmt::format("gave up after {} of {} retries", rewinds, scene_.options.retry_count));
      }
      if (scene_.options.is_peaceful()) complain("liveness", "retries exceeded on a network without faults");
      return;
    case CompletionStatus::kRnrRetryExceeded:
      if (rnr_naks <= scene_.options.rnr_retry || scene_.options.rnr_retry == 7) {
        complain("wire", fmt::format("gave up after {} RNR NAKs with rnr_retry {}", rnr_naks, scene_.options.rnr_retry));
      }
      return;
    default:
      break;
  }
  const bool is_ours = completion.wr_id >= own_.operations.front().id &&
                       completion.wr_id - own_.operations.front().id < own_.operations.size();
  const auto violation = is_ours ? operation_of(completion.wr_id).violation : std::nullopt;
  if (!violation || status_of(*violation) != completion.status) {
    complain("completions",
             fmt::format("work request {} ended with {}{}{}", completion.wr_id, to_string(completion.status),
                         violation ? ", but what is wrong with it is: " : ", but nothing is wrong with it",
                         violation ? to_string(*violation) : ""));
  }
}

void EndpointDriver::judge_receive_failure(const transport::Completion& completion) {
  if (completion.status == CompletionStatus::kWorkRequestFlushed) {
    if (!has_failed() && !flush_is_legitimate()) complain("completions", "a receive was flushed without a reason");
    return;
  }
  const std::size_t index = completion.wr_id & 0xffffffffu;
  const auto violation =
      index < peers_.receives.size() ? peers_.operations[peers_.receives[index].operation].violation : std::nullopt;
  if (!violation || receive_status_of(*violation) != completion.status) {
    complain("completions", fmt::format("a receive ended with {} without a reason", to_string(completion.status)));
  }
}

bool EndpointDriver::flush_is_legitimate() {
  return flush_is_expected_ || has_failed() || scene_.observer.flow(pair_, other(side_)).has_refused();
}

// ---------------------------------------------------------------------------------------------------------

void EndpointDriver::settle(Host& host, const std::vector<Range>& pieces, Pattern pattern, const Operation& operation) {
  std::uint64_t position = 0;
  for (const Range& piece : pieces) {
    if (const auto complaint = host.memory().settle(piece, pattern, position)) {
      complain("memory", fmt::format("after {} {} of {} bytes, memory of {}: {}", to_string(operation.kind), operation.id,
                                     operation.length, name(host.side()), *complaint));
    }
    position += piece.length;
  }
}

void EndpointDriver::maybe_scribble(Host& host, const std::vector<Range>& pieces) {
  if (!scene_.random.chance(0.5)) return;
  for (const Range& piece : pieces) host.memory().write(piece, Pattern{scene_.random.next()});
}

std::string EndpointDriver::describe() const {
  return fmt::format("{}{}: posted {} of {} operations and {} of {} receives; outstanding: {} sends, {} receives, {} messages",
                     name(side_), pair_, next_operation_, own_.operations.size(), next_receive_, peers_.receives.size(),
                     sends_.outstanding(), receives_.outstanding(), receives_.messages_waiting());
}

void EndpointDriver::complain(std::string_view oracle, const std::string& what) {
  scene_.referee.complain(oracle, fmt::format("{}{}: {}", name(side_), pair_, what));
}

}  // namespace urnic::sim
