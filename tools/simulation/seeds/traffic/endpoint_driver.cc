// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/endpoint_driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/simulation/seeds/models/expected_opcode.h"

namespace urnic::sim {
namespace {

using transport::SendOperation;

/// Where the remote side of an operation that breaks a rule begins; others are where the plan put them.
Range remote_range(const Operation& operation, const MemoryModel& responder) {
  Range range = operation.remote;
  if (operation.violation == Violation::kBeyondEnd) {
    const std::uint32_t size = responder.size(range.region);
    const bool is_aligned = range.region == Region::kAtomic;
    range.offset = is_aligned ? size / 8 * 8 : size - range.length + 1;
  }
  return range;
}

}  // namespace

EndpointDriver::EndpointDriver(Scene& scene, std::uint32_t pair, Side side, const Plan& own,
                               const Plan& peers)
    : scene_(scene),
      pair_(pair),
      side_(side),
      host_(scene.host(scene.host_of(pair, side))),
      peer_host_(scene.host(scene.host_of(pair, other(side)))),
      own_(own),
      peers_(peers),
      shares_receives_(scene.options.shares_receives(pair)),
      qp_(host_.create_qp(pair)),
      target_(scene.options.is_xrc[pair] ? host_.create_xrc_target(pair) : nullptr),
      windows_(host_),
      progress_(own.operations.size()) {}

EndpointDriver::~EndpointDriver() {
  host_.device().destroy_qp(std::move(qp_));
  if (target_) host_.device().destroy_qp(std::move(target_));
}

void EndpointDriver::on_connected() {
  ++connection_;
  sends_ = SendCompletions();
  receives_ = ReceiveCompletions(to_integer(responder().number()), to_integer(peer_->requester().number()));
  flush_is_expected_ = is_draining_ = false;
  flush_without_reason_.reset();
  first_unjudged_ = next_operation_;
  drained_ = {};
  host_.events(pair_) = {};
  // Receives of operations that will not be posted any more are left out.
  next_receive_ =
      static_cast<std::size_t>(std::partition_point(peers_.receives.begin(), peers_.receives.end(),
                                                    [this](const Receive& receive) {
                                                      return receive.operation < peer_->next_operation_;
                                                    }) -
                               peers_.receives.begin());
}

// ---------------------------------------------------------------------------------------------------------
// Posting

// A work request takes room in its completion queue until its completion is polled, and in its own queue only
// until the NIC is done with it. Programs count; otherwise completion queues overrun.
bool EndpointDriver::post_sends(std::uint32_t most) {
  const std::size_t before = next_operation_;
  {
    nic::QueuePair::SendBatch batch(*qp_);
    for (; most > 0 && !has_posted_all() && sends_.signaled_outstanding() < scene_.options.send_depth;
         --most) {
      if (post(batch, own_.operations[next_operation_]) == Posted::kNo) break;
      ++next_operation_;
      scene_.referee.note_progress();
    }
  }
  scene_.ring(host_.id());
  return next_operation_ != before;
}

EndpointDriver::Posted EndpointDriver::post(nic::QueuePair::SendBatch& batch, const Operation& operation) {
  const auto prepared = prepare(operation);
  if (!prepared) return Posted::kSkipped;
  // The data must stand there before the NIC can see the work request. If the queue turns out to be full, it
  // does no harm.
  prepare_memory(operation);
  std::vector<transport::Sge> sges;
  for (const Range& piece : operation.local) {
    sges.push_back(operation.is_inline ? host_.plain_sge(piece)
                                       : host_.sge(piece, operation.violation == Violation::kUnknownLkey));
  }
  const auto status =
      operation.is_inline ? batch.post_inline(prepared->request, sges) : batch.post(prepared->request, sges);
  if (status == nic::PostStatus::kQueueFull && sends_.outstanding() > 0) return Posted::kNo;
  if (status != nic::PostStatus::kPosted) {
    complain("posting", fmt::format("{} was refused with {} and {} outstanding", to_string(operation.kind),
                                    static_cast<int>(status), sends_.outstanding()));
    return Posted::kNo;
  }
  announce(operation, *prepared);
  return Posted::kYes;
}

void EndpointDriver::prepare_memory(const Operation& operation) {
  const Pattern pattern{operation.id};
  if (operation.is_read()) {
    if (!operation.violation && !operation.reads_chain) peer_host_.memory().write(operation.remote, pattern);
    return;
  }
  if (operation.is_atomic()) return;
  std::uint64_t position = 0;
  for (const Range& piece : operation.local) {
    host_.memory().write(piece, pattern, position);
    position += piece.length;
  }
}

/// Nothing when the operation makes no sense now: a window cannot be bound, or there is none to take back.
std::optional<EndpointDriver::Prepared> EndpointDriver::prepare(const Operation& operation) {
  Prepared prepared{.request = {.wr_id = operation.id,
                                .operation = operation.kind,
                                .signaled = operation.signaled,
                                .solicited = operation.solicited,
                                .fence = operation.fence,
                                .immediate = operation.immediate}};
  transport::SendRequest& request = prepared.request;
  if (operation.kind == SendOperation::kSendWithInvalidate) {
    prepare_invalidation(operation, prepared);
  } else if (operation.kind == SendOperation::kLocalInvalidate) {
    const Windows::Window& window = windows_.at(Windows::kType2);
    const bool is_busy = !window.users.empty() && !is_heedless();
    request.invalidate_rkey = operation.violation ? host_.unknown_rkey() : window.key;
    if (!operation.violation && (window.state != Windows::State::kOpen || is_busy)) return std::nullopt;
  } else if (operation.kind == SendOperation::kBindWindow) {
    prepared.binding = windows_.plan(operation.window, scene_.random, is_heedless());
    if (!prepared.binding) return std::nullopt;
    request.binding = prepared.binding->binding;
    if (operation.violation) {
      request.binding.region = host_.lkey(Region::kReadable);
      request.binding.address = host_.address({.region = Region::kReadable});
      request.binding.length = 1;
    }
  } else if (!operation.is_send()) {
    prepare_remote(operation, prepared);
  }
  if (is_xrc() && !operation.is_local()) {
    request.xrc_srq = operation.violation == Violation::kUnknownSrq
                          ? peer_host_.unknown_xrc_number()
                          : peer_host_.xrc_number(operation.xrc_queue);
  }
  return prepared;
}

void EndpointDriver::prepare_remote(const Operation& operation, Prepared& prepared) {
  transport::SendRequest& request = prepared.request;
  const Range range = remote_range(operation, peer_host_.memory());
  request.remote_address = peer_host_.address(range);
  request.rkey = peer_host_.rkey(range.region);
  request.flush = {.length = range.length, .access = operation.flush.access, .scope = operation.flush.scope};
  if (operation.is_atomic()) {
    request.swap_or_add = operation.operand;
    const bool in_vain = operation.compares_in_vain || operation.violation;
    request.compare =
        in_vain ? ~operation.operand : peer_host_.atomics(operation.remote.offset).likely_value();
  }
  if (operation.violation == Violation::kUnknownRkey) request.rkey = peer_host_.unknown_rkey();
  if (operation.violation == Violation::kStaleRkey) request.rkey = peer_host_.stale_rkey();
  if (operation.violation == Violation::kWrongPd) request.rkey = peer_host_.other_pd_rkey();
  if (operation.is_write() || operation.is_read()) prepare_window(operation, prepared);
}

/// Every other operation that could use an open window does.
void EndpointDriver::prepare_window(const Operation& operation, Prepared& prepared) {
  transport::SendRequest& request = prepared.request;
  if (operation.uses_volatile_key) {
    request.rkey = scene_.machine(peer_host_.id()).volatile_key->rkey();
    return;
  }
  if (operation.violation == Violation::kOutsideWindow) {
    const auto window = peer_->windows_.any_open();
    request.rkey = window ? peer_->windows_.at(*window).key : peer_host_.unknown_rkey();
    if (!window) return;
    const Range& range = peer_->windows_.at(*window).range;
    request.remote_address =
        peer_->windows_.address(*window, range.offset + range.length) - operation.length + 1;
    scene_.coverage.add(CoverageEvent::kOutsideWindow);
    return;
  }
  if (operation.violation || !scene_.random.chance(is_heedless() ? 1 : 0.5)) return;
  prepared.window = peer_->windows_.find_for(operation);
  if (!prepared.window) return;
  request.rkey = peer_->windows_.at(*prepared.window).key;
  request.remote_address = peer_->windows_.address(*prepared.window, operation.remote.offset);
}

/// Without a window that can be taken back it becomes a plain SEND. The fence is for READs through the
/// window, whose responses would otherwise find it closed.
void EndpointDriver::prepare_invalidation(const Operation& operation, Prepared& prepared) {
  transport::SendRequest& request = prepared.request;
  const Windows::Window& window = peer_->windows_.at(Windows::kType2);
  if (operation.violation == Violation::kBadInvalidation) {
    request.invalidate_rkey =
        operation.signaled ? peer_host_.unknown_rkey() : peer_host_.rkey(Region::kShared);
  } else if (window.state == Windows::State::kOpen) {
    request.invalidate_rkey = window.key;
    request.fence = request.fence || !is_heedless();
  } else {
    request.operation = SendOperation::kSend;
  }
}

/// Tells the oracles about an operation that was posted.
void EndpointDriver::announce(const Operation& operation, const Prepared& prepared) {
  const transport::SendRequest& request = prepared.request;
  Progress& progress = progress_of(operation);
  progress.connection = connection_;
  progress.posted_as = request.operation;
  progress.brings = Pattern{operation.id};
  progress.window = prepared.window;
  note_chain(operation);
  announce_window(operation, prepared);
  sends_.on_posted({.wr_id = operation.id,
                    .opcode = sim::expected_opcode(operation.kind),
                    .byte_length = operation.length,
                    .signaled = operation.signaled});
  if (!operation.is_local()) {
    const bool is_read = request.operation == SendOperation::kRead;
    scene_.observer.flow(pair_, side_)
        .on_posted({.fence = request.fence,
                    .xrc_srq = request.xrc_srq,
                    .read_bytes = is_read ? operation.length : 0});
  }
  if (is_draining_) scene_.coverage.add(CoverageEvent::kPostedWhileDraining);
  if (operation.consumes_receive()) announce_message(operation, request);
  if (operation.is_inline) {
    maybe_scribble(host_, operation.local);  // inline data was copied
  }
  if (operation.is_atomic()) announce_atomic(operation, request);
  if (operation.violation && !operation.may_bring_a_part()) return;  // it must not touch any memory
  if (operation.places_data()) peer_host_.memory().begin(operation.remote);
  if (operation.brings_data()) {
    for (const Range& piece : operation.local) host_.memory().begin(piece);
  }
}

/// One that breaks a rule must not be executed, unless only its result cannot be put anywhere.
void EndpointDriver::announce_atomic(const Operation& operation, const transport::SendRequest& request) {
  if (operation.violation && operation.violation != Violation::kUnknownLkey) return;
  const std::uint64_t queue = std::uint64_t{connection_} << 32 | pair_ << 1 | index(side_);
  peer_host_.atomics(operation.remote.offset)
      .on_posted(queue, operation.id,
                 {.is_swap = operation.kind == SendOperation::kCompareSwap,
                  .compare = request.compare,
                  .operand = request.swap_or_add});
}

void EndpointDriver::announce_message(const Operation& operation, const transport::SendRequest& request) {
  const bool invalidates = request.operation == SendOperation::kSendWithInvalidate;
  peer_->receives_.on_message_posted(
      {.opcode = operation.is_send() ? transport::CompletionOpcode::kReceive
                                     : transport::CompletionOpcode::kReceiveRdmaWithImmediate,
       .byte_length = operation.length,
       .immediate = operation.has_immediate() ? std::optional(operation.immediate) : std::nullopt,
       .invalidated = invalidates ? std::optional(request.invalidate_rkey) : std::nullopt,
       .solicited = operation.solicited});
}

void EndpointDriver::announce_window(const Operation& operation, const Prepared& prepared) {
  if (operation.uses_volatile_key) {
    progress_of(operation).uses_volatile_key = true;
    scene_.machine(peer_host_.id()).volatile_key->add_user(*this, operation.id);
  }
  if (prepared.window) {
    scene_.coverage.add(CoverageEvent::kWindowUsed);
    peer_->windows_.at(*prepared.window).users.push_back(operation.id);
  }
  if (operation.violation) return;
  if (prepared.binding) {
    note_users_at_risk(operation.window);
    windows_.on_posted(operation.window, *prepared.binding);
  } else if (operation.kind == SendOperation::kLocalInvalidate) {
    note_users_at_risk(Windows::kType2);
    windows_.at(Windows::kType2).state = Windows::State::kClosing;
  } else if (prepared.request.operation == SendOperation::kSendWithInvalidate) {
    if (!prepared.request.fence) peer_->note_users_at_risk(Windows::kType2);
    peer_->windows_.at(Windows::kType2).state = Windows::State::kClosing;
  }
}

void EndpointDriver::note_chain(const Operation& operation) {
  if (!operation.is_write() && !operation.is_read()) return;
  for (std::size_t i = next_operation_; i-- > 0;) {
    const Operation& before = own_.operations[i];
    const bool is_chained = before.in_chain && before.remote.region == operation.remote.region &&
                            before.remote.offset == operation.remote.offset;
    if (!is_chained || progress_of(before).connection == 0) continue;
    if (operation.is_write()) {
      progress_of(before).overwritten = true;
    } else {
      // What a failed connection left there is not known.
      progress_of(operation).expects_data =
          progress_of(before).succeeded || progress_of(before).connection == connection_;
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
  scene_.ring(host_.id());
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

std::string EndpointDriver::label() const {
  return fmt::format("{}{}", name(host_.id()), pair_);
}

std::string EndpointDriver::describe() const {
  return fmt::format(
      "{}: posted {} of {} operations and {} of {} receives; outstanding: {} sends, {} receives, {} "
      "messages",
      label(), next_operation_, own_.operations.size(), next_receive_, peers_.receives.size(),
      sends_.outstanding(), receives_.outstanding(), receives_.messages_waiting());
}

void EndpointDriver::complain(std::string_view oracle, const std::string& what) {
  scene_.referee.complain(oracle, fmt::format("{}: {}", label(), what));
}

}  // namespace urnic::sim
