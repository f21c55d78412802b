#include "tests/sim/plan.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "tests/sim/random.h"

namespace urnic::sim {
namespace {

using transport::CompletionStatus;
using transport::SendOperation;

/// What hosts do, in the order of Options::operation_weights.
struct Planned {
  SendOperation operation;
  std::string_view name;
};
constexpr std::array<Planned, 5> kPlanned = {{{SendOperation::kSend, "SEND"},
                                              {SendOperation::kSendWithImmediate, "SEND_IMM"},
                                              {SendOperation::kWrite, "WRITE"},
                                              {SendOperation::kWriteWithImmediate, "WRITE_IMM"},
                                              {SendOperation::kRead, "READ"}}};

constexpr std::uint32_t kMaxInlineBytes = 256;

/// The right that the responder's queue pair must grant; none for SEND.
transport::Access access_for(const Operation& operation) {
  if (operation.is_write()) return transport::Access::kRemoteWrite;
  return operation.kind == SendOperation::kRead ? transport::Access::kRemoteRead : transport::Access::kNone;
}

/// Draws plans and gives every operation memory of its own: ranges never overlap, except in a chain of WRITEs to one
/// place, whose order on one queue pair says what must be left there.
class Planner {
 public:
  explicit Planner(const Options& options) : options_(options), random_(options.seed, Stream::kPlan) {
    for (auto& regions : plans_.memory) {
      regions.fill(64);
    }
  }

  Plans draw() {
    const std::uint32_t each = options_.operations / (options_.pairs * 2) + 1;
    plans_.pairs.resize(options_.all_pairs());
    for (std::uint32_t pair = 0; pair < options_.all_pairs(); ++pair) {
      const bool violator = pair == options_.pairs;
      for (const Side side : kSides) {
        draw_plan(plans_.pairs[pair][index(side)], side, violator ? 24 : each, violator);
      }
    }
    return std::move(plans_);
  }

 private:
  void draw_plan(Plan& plan, Side requester, std::uint32_t count, bool violator);
  Operation draw_operation();
  void draw_violation(Operation& operation, Side requester);
  void draw_receive(Plan& plan, Side responder);
  std::uint32_t draw_length();
  SendOperation draw_kind();
  Range allocate(Side side, Region region, std::uint32_t length);
  std::vector<Range> allocate_pieces(Side side, Region region, std::uint32_t length);

  /// WRITEs to one place that have not ended, per plan.
  struct Chain {
    Range range;
    std::uint32_t left = 0;
    std::uint32_t last = 0;  // index of its last operation so far
  };

  const Options& options_;
  Random random_;
  Plans plans_;
  std::optional<Chain> chain_;
  std::uint64_t next_id_ = 1;
};

void Planner::draw_plan(Plan& plan, Side requester, std::uint32_t count, bool violator) {
  using transport::Access;
  chain_.reset();
  if (violator) {
    plan.responder_access = random_.pick(std::array{Access::kRemoteRead, Access::kRemoteWrite,
                                                    Access::kRemoteRead | Access::kRemoteWrite});
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Operation operation = draw_operation();
    const bool is_denied = !allows(plan.responder_access, access_for(operation));
    if (is_denied && random_.chance(0.8)) {
      operation.kind = SendOperation::kSend;
    }
    const bool wants_chain = !violator && (operation.is_write() || operation.kind == SendOperation::kRead);
    if (wants_chain && chain_ && operation.kind != SendOperation::kWriteWithImmediate) {
      // Continue the chain: another WRITE over it, or a READ that ends it.
      plan.operations[chain_->last].in_chain = true;
      const bool is_read = operation.kind == SendOperation::kRead;
      operation.length = chain_->range.length;
      operation.remote = chain_->range;
      operation.is_inline = operation.is_inline && operation.length <= kMaxInlineBytes;
      operation.reads_chain = is_read;
      chain_->last = i;
      if (is_read || --chain_->left == 0) {
        chain_.reset();
      }
    } else if (operation.is_write()) {
      operation.remote = allocate(other(requester), Region::kShared, operation.length);
      if (wants_chain && operation.length > 0 && random_.chance(options_.chained)) {
        chain_ = Chain{.range = operation.remote, .left = static_cast<std::uint32_t>(random_.between(1, 3)), .last = i};
      }
    } else if (operation.kind == SendOperation::kRead) {
      operation.remote = allocate(other(requester), random_.chance(0.5) ? Region::kReadable : Region::kShared,
                                  operation.length);
    }
    if (!allows(plan.responder_access, access_for(operation))) {
      operation.violation = Violation::kNoQueuePairRight;
      operation.is_inline = false;
    } else if (violator && random_.chance(0.2)) {
      draw_violation(operation, requester);
    }
    operation.local = allocate_pieces(requester, Region::kPrivate, operation.length);
    plan.operations.push_back(std::move(operation));
    if (plan.operations.back().consumes_receive()) {
      draw_receive(plan, other(requester));
    }
  }
  plan.operations.back().signaled = true;
}

Operation Planner::draw_operation() {
  Operation operation;
  operation.id = next_id_++;
  operation.kind = draw_kind();
  operation.length = draw_length();
  operation.signaled = random_.chance(options_.signaled);
  operation.solicited = operation.consumes_receive() && random_.chance(0.3);
  operation.fence = random_.chance(options_.fenced);
  operation.is_inline = operation.kind != SendOperation::kRead && operation.length <= kMaxInlineBytes &&
                        random_.chance(options_.inlined);
  operation.immediate = operation.has_immediate() ? static_cast<std::uint32_t>(random_.next()) : 0;
  return operation;
}

void Planner::draw_violation(Operation& operation, Side requester) {
  using enum Violation;
  // A message of nothing breaks no memory rule (fact 31), and inline data has no key.
  operation.length = std::max(operation.length, 2u);
  operation.is_inline = false;
  operation.signaled = random_.chance(0.5);
  if (operation.is_send()) {
    operation.violation = random_.pick(std::array{kReceiveTooSmall, kReceiveWithoutKey, kUnknownLkey});
    return;
  }
  operation.violation = random_.pick(std::array{kUnknownRkey, kStaleRkey, kBeyondEnd, kBeforeStart, kNoRemoteRight, kWrongPd,
                                                kUnknownLkey});
  const Side responder = other(requester);
  operation.remote = allocate(responder, Region::kShared, operation.length);
  if (operation.violation == kNoRemoteRight) {
    const bool is_read = operation.kind == SendOperation::kRead;
    const Region region = is_read || random_.chance(0.5) ? Region::kPrivate : Region::kReadable;
    operation.remote = allocate(responder, region, operation.length);
  } else if (operation.violation == kBeforeStart) {
    operation.length = std::min(operation.length, 4096u);
    operation.remote = {.region = Region::kShared, .offset = 0u - 1u, .length = operation.length};
  }
  // kBeyondEnd: the end is known when all plans are drawn; see Host.
}

void Planner::draw_receive(Plan& plan, Side responder) {
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
  receive.buffer = allocate_pieces(responder, Region::kPrivate, room);
  plan.receives.push_back(std::move(receive));
}

SendOperation Planner::draw_kind() {
  const auto& weights = options_.operation_weights;
  std::uint64_t ticket = random_.below(std::accumulate(weights.begin(), weights.end(), 0u));
  std::size_t kind = 0;
  while (ticket >= weights[kind]) {
    ticket -= weights[kind++];
  }
  return kPlanned[kind].operation;
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
      return mtu * static_cast<std::uint32_t>(random_.between(2, 6)) + static_cast<std::uint32_t>(random_.below(3)) - 1;
    case 8:
      return static_cast<std::uint32_t>(random_.between(1, options_.max_message_bytes));
    default:
      return static_cast<std::uint32_t>(random_.between(1, 4 * mtu));
  }
}

Range Planner::allocate(Side side, Region region, std::uint32_t length) {
  std::uint32_t& size = plans_.memory[index(side)][static_cast<std::size_t>(region)];
  size += static_cast<std::uint32_t>(random_.below(8));  // a gap, and odd addresses
  const Range range{.region = region, .offset = size, .length = length};
  size += length;
  return range;
}

std::vector<Range> Planner::allocate_pieces(Side side, Region region, std::uint32_t length) {
  std::vector<Range> pieces;
  if (length == 0 && random_.chance(0.5)) {
    return pieces;
  }
  const std::uint64_t more = random_.chance(0.3) ? random_.between(1, 3) : 0;
  for (std::uint64_t i = 0; i < more; ++i) {
    const auto part = static_cast<std::uint32_t>(random_.below(std::uint64_t{length} + 1));
    pieces.push_back(allocate(side, region, part));
    length -= part;
  }
  pieces.push_back(allocate(side, region, length));
  return pieces;
}

}  // namespace

Plans Plans::draw(const Options& options) { return Planner(options).draw(); }

CompletionStatus status_of(Violation violation) {
  switch (violation) {
    case Violation::kUnknownRkey:
    case Violation::kStaleRkey:
    case Violation::kBeyondEnd:
    case Violation::kBeforeStart:
    case Violation::kNoRemoteRight:
    case Violation::kWrongPd:
      return CompletionStatus::kRemoteAccessError;
    case Violation::kNoQueuePairRight:  // fact 30
    case Violation::kReceiveTooSmall:   // fact 33 and the decision below the facts
      return CompletionStatus::kRemoteInvalidRequest;
    case Violation::kReceiveWithoutKey:
      return CompletionStatus::kRemoteOperationError;
    case Violation::kUnknownLkey:
      return CompletionStatus::kLocalProtectionError;
  }
  return CompletionStatus::kSuccess;
}

std::optional<CompletionStatus> receive_status_of(Violation violation) {
  switch (violation) {
    case Violation::kReceiveTooSmall:
      return CompletionStatus::kLocalLengthError;
    case Violation::kReceiveWithoutKey:
      return CompletionStatus::kLocalProtectionError;
    default:
      return std::nullopt;
  }
}

std::string_view to_string(Violation violation) {
  static constexpr std::array<std::string_view, kViolations> kNames = {
      "unknown rkey",      "stale rkey", "beyond the end",          "before the start",  "no right in the region",
      "wrong PD",          "no right in the queue pair",            "receive too small", "receive with unknown lkey",
      "unknown local lkey"};
  return kNames[static_cast<std::size_t>(violation)];
}

std::string_view to_string(SendOperation operation) {
  const auto* const row = std::find_if(kPlanned.begin(), kPlanned.end(),
                                       [&](const Planned& planned) { return planned.operation == operation; });
  return row->name;
}

}  // namespace urnic::sim
