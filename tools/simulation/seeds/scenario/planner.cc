// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <algorithm>
#include <numeric>
#include <utility>

#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/scenario/plan.h"

namespace urnic::sim {
namespace {

using transport::Access;
using transport::SendOperation;

constexpr std::uint32_t kMaxInlineBytes = 256;

constexpr std::uint32_t kCellBytes = 8;
constexpr std::uint32_t kCells = 4;

/// The right that the responder's queue pair must grant; none for SEND and what the NIC does alone.
Access access_for(const Operation& operation) {
  if (operation.places_data()) return Access::kRemoteWrite;
  if (operation.is_atomic()) return Access::kRemoteAtomic;
  if (operation.is_read()) return Access::kRemoteRead;
  return operation.kind == SendOperation::kFlush ? operation.flush.access : Access::kNone;
}

/// Its address must be a multiple of 8.
bool is_aligned(const Operation& operation) {
  return operation.is_atomic() || operation.kind == SendOperation::kAtomicWrite;
}

/// Draws plans and gives every operation memory of its own: ranges never overlap, except in a chain of WRITEs
/// to one place, whose order on one queue pair says what must be left there.
class Planner {
 public:
  explicit Planner(const Options& options)
      : options_(options), random_(options.seed, Stream::kPlan), memory_(options.hosts, random_) {
    plans_.cells.resize(options.hosts);
    for (std::uint32_t host = 0; host < options.hosts; ++host) {
      for (std::uint32_t i = 0; i < kCells; ++i) {
        plans_.cells[host].push_back(memory_.allocate_aligned(host_id(host), Region::kAtomic, kCellBytes));
      }
    }
  }

  Plans draw() {
    const std::uint32_t each = options_.operations / (options_.pairs * 2) + 1;
    plans_.pairs.resize(options_.all_pairs());
    for (std::uint32_t pair = 0; pair < options_.all_pairs(); ++pair) {
      const bool violator = pair == options_.pairs;
      for (const Side side : kSides) {
        requester_ = options_.host_of(pair, side);
        responder_ = options_.host_of(pair, other(side));
        is_xrc_ = options_.is_xrc[pair];
        draw_plan(plans_.pairs[pair][index(side)], violator ? 48 : each, violator);
      }
    }
    draw_unreliable();
    draw_shared_buffers();
    plans_.connections = draw_connection_plans(options_, memory_, next_id_);
    plans_.memory = memory_.sizes();
    return std::move(plans_);
  }

 private:
  void draw_plan(Plan& plan, std::uint32_t count, bool violator);
  Operation draw_operation(bool violator, bool is_last);
  void draw_remote(Plan& plan, Operation& operation, bool may_chain);
  bool continue_chain(Plan& plan, Operation& operation);
  void draw_flush(Operation& operation);
  void draw_violation(Operation& operation);
  Violation pick_violation(const Operation& operation);
  void draw_place_without_right(Operation& operation);
  void draw_receive(Plan& plan);
  std::uint32_t draw_length();
  SendOperation draw_kind();
  void draw_unreliable();
  void draw_shared_buffers();
  std::vector<std::uint32_t> longest_shared() const;
  std::vector<std::uint32_t> longest_sends(bool over_xrc) const;

  /// WRITEs to one place that have not ended, per plan.
  struct Chain {
    Range range;
    std::uint32_t left = 0;
    std::uint32_t last = 0;  // index of its last operation so far
  };

  const Options& options_;
  Random random_;
  MemoryPlan memory_;
  Plans plans_;
  HostId requester_{};  // of the plan that is being drawn
  HostId responder_{};
  bool is_xrc_ = false;  // the plan's pair
  std::optional<Chain> chain_;
  std::uint64_t next_id_ = 1;
};

void Planner::draw_plan(Plan& plan, std::uint32_t count, bool violator) {
  chain_.reset();
  if (violator) {
    plan.responder_access = random_.pick(std::array{
        Access::kRemoteRead, Access::kRemoteWrite | Access::kFlushGlobal,
        Access::kRemoteRead | Access::kRemoteAtomic, plan.responder_access, plan.responder_access});
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Operation operation = draw_operation(violator, i + 1 == count);
    const bool is_denied = !allows(plan.responder_access, access_for(operation));
    if (is_denied && random_.chance(0.8)) operation.kind = SendOperation::kSend;
    draw_remote(plan, operation, !violator);
    if (!allows(plan.responder_access, access_for(operation))) {
      operation.violation = Violation::kNoQueuePairRight;
      operation.is_inline = false;
    } else if (violator && random_.chance(0.12)) {
      draw_violation(operation);
    }
    const bool names_memory = operation.is_write() || operation.is_read();
    operation.uses_volatile_key = names_memory && operation.remote.region == Region::kShared && !violator &&
                                  random_.chance(options_.volatile_keys);
    if (!operation.is_local()) {
      operation.local = memory_.allocate_pieces(requester_, Region::kPrivate, operation.length);
    }
    plan.operations.push_back(std::move(operation));
    if (plan.operations.back().consumes_receive()) draw_receive(plan);
  }
  plan.operations.back().signaled = true;
}

/// Where at the responder the operation works, if it does.
void Planner::draw_remote(Plan& plan, Operation& operation, bool may_chain) {
  if (operation.is_atomic()) {
    const auto& cells = plans_.cells[index(responder_)];
    operation.remote = cells[random_.below(cells.size())];
  } else if (operation.kind == SendOperation::kAtomicWrite) {
    operation.remote = memory_.allocate_aligned(responder_, Region::kAtomic, kCellBytes);
  } else if (operation.kind == SendOperation::kFlush) {
    draw_flush(operation);
  } else if (may_chain && continue_chain(plan, operation)) {
    return;
  } else if (operation.is_write()) {
    operation.remote = memory_.allocate(responder_, Region::kShared, operation.length);
    if (may_chain && operation.length > 0 && random_.chance(options_.chained)) {
      chain_ = Chain{.range = operation.remote,
                     .left = static_cast<std::uint32_t>(random_.between(1, 3)),
                     .last = static_cast<std::uint32_t>(plan.operations.size())};
    }
  } else if (operation.is_read()) {
    operation.remote = memory_.allocate(responder_, random_.chance(0.5) ? Region::kReadable : Region::kShared,
                                        operation.length);
  }
}

/// Another WRITE over the chain, or a READ that ends it.
bool Planner::continue_chain(Plan& plan, Operation& operation) {
  const bool fits = operation.kind == SendOperation::kWrite || operation.is_read();
  if (!chain_ || !fits) return false;
  plan.operations[chain_->last].in_chain = true;
  operation.length = chain_->range.length;
  operation.remote = chain_->range;
  operation.is_inline = operation.is_inline && operation.length <= kMaxInlineBytes;
  operation.reads_chain = operation.is_read();
  chain_->last = static_cast<std::uint32_t>(plan.operations.size());
  if (operation.is_read() || --chain_->left == 0) chain_.reset();
  return true;
}

/// FLUSH changes nothing, so that it may name what others use.
void Planner::draw_flush(Operation& operation) {
  const auto length = static_cast<std::uint32_t>(random_.between(1, 4096));
  operation.flush.scope =
      random_.chance(0.3) ? transport::FlushScope::kRegion : transport::FlushScope::kRange;
  operation.remote =
      chain_ && random_.chance(0.5) ? chain_->range : memory_.allocate(responder_, Region::kShared, length);
}

Operation Planner::draw_operation(bool violator, bool is_last) {
  Operation operation;
  operation.id = next_id_++;
  operation.kind = draw_kind();
  // A pair that breaks rules opens and closes windows heedlessly.
  if (violator && random_.chance(0.3)) {
    operation.kind = random_.chance(0.6) ? SendOperation::kBindWindow : SendOperation::kLocalInvalidate;
  }
  // The last one tells that all others are done; it must not be left out.
  if (is_last && operation.is_local()) operation.kind = SendOperation::kSend;
  operation.length = draw_length();
  if (is_aligned(operation)) operation.length = kCellBytes;
  if (operation.is_local() || operation.kind == SendOperation::kFlush) operation.length = 0;
  operation.signaled = random_.chance(options_.signaled);
  operation.solicited = operation.consumes_receive() && random_.chance(0.3);
  operation.fence = random_.chance(options_.fenced);
  operation.is_inline = transport::sends_data(operation.kind) && operation.length <= kMaxInlineBytes &&
                        random_.chance(options_.inlined);
  operation.immediate = operation.has_immediate() ? static_cast<std::uint32_t>(random_.next()) : 0;
  if (operation.is_atomic()) operation.operand = random_.next();
  operation.compares_in_vain = operation.is_atomic() && random_.chance(0.25);
  operation.window = static_cast<std::uint8_t>(random_.below(2));
  if (is_xrc_) {
    operation.xrc_queue = static_cast<std::uint8_t>(random_.below(kXrcQueues));
    // A type 2 window is for the queue pair that binds it: an initiator, which takes no requests.
    operation.window = 0;
  }
  return operation;
}

void Planner::draw_violation(Operation& operation) {
  using enum Violation;
  // A message of nothing breaks no memory rule (fact 31), and inline data has no key.
  if (!is_aligned(operation) && !operation.is_local() && operation.kind != SendOperation::kFlush) {
    operation.length = std::max(operation.length, 2u);
  }
  operation.is_inline = false;
  operation.signaled = random_.chance(0.5);
  operation.flush.scope = transport::FlushScope::kRange;
  operation.violation = pick_violation(operation);
  if (operation.is_send() || operation.is_local()) return;

  const bool is_read_or_write = operation.is_write() || operation.is_read();
  if (is_read_or_write) operation.remote = memory_.allocate(responder_, Region::kShared, operation.length);
  if (operation.violation == kNoRemoteRight) {
    draw_place_without_right(operation);
  } else if (operation.violation == kMisaligned) {
    operation.remote = memory_.allocate_aligned(responder_, Region::kAtomic, 2 * kCellBytes);
    operation.remote.offset += static_cast<std::uint32_t>(random_.between(1, 7));
    operation.remote.length = kCellBytes;
  } else if (operation.violation == kBeforeStart) {
    if (is_read_or_write) operation.length = operation.remote.length = std::min(operation.length, 4096u);
    operation.remote.offset = is_aligned(operation) ? 0u - kCellBytes : 0u - 1u;
  }
  // kBeyondEnd: the end is known when all plans are drawn; see remote_range() of EndpointDriver.
}

Violation Planner::pick_violation(const Operation& operation) {
  using enum Violation;
  if (operation.kind == SendOperation::kLocalInvalidate) return kBadLocalKey;
  if (operation.kind == SendOperation::kBindWindow) return kBadBinding;
  if (is_xrc_ && random_.chance(0.2)) return kUnknownSrq;
  if (operation.kind == SendOperation::kSendWithInvalidate && random_.chance(0.5)) return kBadInvalidation;
  // Receives of a shared queue are for any message.
  if (operation.is_send() && is_xrc_) return random_.chance(0.5) ? kUnknownSrq : kUnknownLkey;
  if (operation.is_send()) {
    return random_.pick(std::array{kReceiveTooSmall, kReceiveWithoutKey, kUnknownLkey});
  }
  if (is_aligned(operation)) {
    return random_.pick(std::array{kUnknownRkey, kStaleRkey, kBeyondEnd, kBeforeStart, kNoRemoteRight,
                                   kWrongPd, kUnknownLkey, kMisaligned, kMisaligned});
  }
  if (operation.kind == SendOperation::kFlush) {
    return random_.pick(
        std::array{kUnknownRkey, kStaleRkey, kBeyondEnd, kBeforeStart, kNoRemoteRight, kWrongPd});
  }
  return random_.pick(std::array{kUnknownRkey, kStaleRkey, kBeyondEnd, kBeforeStart, kNoRemoteRight, kWrongPd,
                                 kUnknownLkey, kOutsideWindow, kOutsideWindow});
}

void Planner::draw_place_without_right(Operation& operation) {
  if (is_aligned(operation)) {
    operation.remote = memory_.allocate_aligned(responder_, Region::kReadable, kCellBytes);
  } else if (operation.kind == SendOperation::kFlush) {
    operation.remote = memory_.allocate(responder_, Region::kReadable, operation.remote.length);
  } else {
    const Region region = operation.is_read() || random_.chance(0.5) ? Region::kPrivate : Region::kReadable;
    operation.remote = memory_.allocate(responder_, region, operation.length);
  }
}

void Planner::draw_receive(Plan& plan) {
  const Operation& operation = plan.operations.back();
  Receive receive{.operation = static_cast<std::uint32_t>(plan.operations.size() - 1)};
  std::uint32_t room = operation.is_send() ? operation.length : 0;
  if (operation.violation == Violation::kReceiveTooSmall) {
    room -= static_cast<std::uint32_t>(random_.between(1, random_.chance(0.5) ? 1 : room));
  } else if (operation.violation == Violation::kReceiveWithoutKey) {
    receive.unknown_lkey = true;
  } else if (random_.chance(0.5)) {
    room += static_cast<std::uint32_t>(random_.between(1, 300));
  }
  receive.buffer = memory_.allocate_pieces(responder_, Region::kPrivate, room);
  plan.receives.push_back(std::move(receive));
}

SendOperation Planner::draw_kind() {
  const auto& weights = options_.operation_weights;
  std::uint64_t ticket = random_.below(std::accumulate(weights.begin(), weights.end(), 0u));
  std::size_t kind = 0;
  while (ticket >= weights[kind]) ticket -= weights[kind++];
  return kPlannedOperationKinds[kind];
}

std::uint32_t Planner::draw_length() {
  const std::uint32_t mtu = transport::bytes(options_.path_mtu);
  switch (random_.below(12)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return mtu - 1;
    case 3:
      return mtu;
    case 4:
      return mtu + 1;
    case 5:
      return static_cast<std::uint32_t>(random_.between(1, 64));
    case 6:
    case 7:
      return mtu * static_cast<std::uint32_t>(random_.between(2, 6)) +
             static_cast<std::uint32_t>(random_.below(3)) - 1;
    case 8:
      return static_cast<std::uint32_t>(random_.between(1, options_.max_message_bytes));
    default:
      return static_cast<std::uint32_t>(random_.between(1, 4 * mtu));
  }
}

/// Each is large enough for every message that may come.
void Planner::draw_shared_buffers() {
  plans_.shared_buffers.resize(options_.hosts);
  for (std::size_t queue = 0; queue < kSharedQueues; ++queue) {
    const std::uint32_t count = queue == 0 ? options_.shared_receives : options_.xrc_receives;
    const std::vector<std::uint32_t> longest = queue == 0 ? longest_shared() : longest_sends(true);
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      for (std::uint32_t i = 0; i < count; ++i) {
        plans_.shared_buffers[host][queue].push_back(
            memory_.allocate(host_id(host), Region::kPrivate, longest[host]));
      }
    }
  }
}

/// By host: the longest message that may take a receive of the queue which is not for XRC.
std::vector<std::uint32_t> Planner::longest_shared() const {
  std::vector<std::uint32_t> longest = longest_sends(false);
  if (!options_.shared_unreliable) return longest;
  for (const UnreliablePlan& plan : plans_.unreliable) {
    for (const HostId host : plan.hosts) {
      longest[index(host)] = std::max(longest[index(host)], plan.longest_message + kGrhBytes);
    }
  }
  return longest;
}

/// By host: the longest SEND that comes to it over pairs of the service. RC pairs that break rules have
/// receives of their own.
std::vector<std::uint32_t> Planner::longest_sends(bool over_xrc) const {
  std::vector<std::uint32_t> longest(options_.hosts);
  for (std::uint32_t pair = 0; pair < options_.all_pairs(); ++pair) {
    if (options_.is_xrc[pair] != over_xrc || !options_.shares_receives(pair)) continue;
    for (const Side side : kSides) {
      std::uint32_t& most = longest[index(options_.host_of(pair, other(side)))];
      for (const Operation& operation : plans_.pairs[pair][index(side)].operations) {
        if (operation.is_send()) most = std::max(most, operation.length);
      }
    }
  }
  return longest;
}

/// Connections between any two hosts, and datagrams among the first few.
void Planner::draw_unreliable() {
  for (std::uint32_t i = 0; i < options_.unreliable_pairs; ++i) {
    const auto left = random_.below(options_.hosts);
    const auto right = (left + random_.between(1, options_.hosts - 1)) % options_.hosts;
    plans_.unreliable.push_back(draw_unreliable_plan(nic::QpType::kUc, {host_id(left), host_id(right)},
                                                     options_, random_, memory_, next_id_));
  }
  if (options_.datagram_hosts == 0) return;
  std::vector<HostId> hosts;
  for (std::uint32_t host = 0; host < options_.datagram_hosts; ++host) hosts.push_back(host_id(host));
  plans_.unreliable.push_back(
      draw_unreliable_plan(nic::QpType::kUd, std::move(hosts), options_, random_, memory_, next_id_));
}

}  // namespace

Plans Plans::draw(const Options& options) {
  return Planner(options).draw();
}

}  // namespace urnic::sim
