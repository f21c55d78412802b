// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What modify_qp may change: the legal transitions of a queue pair with the attributes they need and allow,
// and the attributes' ranges.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "transport/qp_state.h"
#include "transport/result.h"
#include "transport/types.h"

namespace urnic::nic {

/// Attributes of a queue pair by name; a set of bits. The new state itself is none: it is always allowed.
enum class Attributes : std::uint32_t {
  kNone = 0,
  kCurrentState = 1 << 0,
  kAccess = 1 << 1,
  kPkeyIndex = 1 << 2,
  kPort = 1 << 3,
  kAddress = 1 << 4,
  kPathMtu = 1 << 5,
  kDestinationQp = 1 << 6,
  kReceivePsn = 1 << 7,
  kMaxResponderResources = 1 << 8,
  kMinRnrTimer = 1 << 9,
  kSendPsn = 1 << 10,
  kMaxReadsInFlight = 1 << 11,
  kAckTimeout = 1 << 12,
  kRetryCount = 1 << 13,
  kRnrRetry = 1 << 14,
  kQkey = 1 << 15,
  kDrainNotification = 1 << 16,
};

constexpr Attributes operator|(Attributes a, Attributes b) {
  return static_cast<Attributes>(transport::to_integer(a) | transport::to_integer(b));
}
constexpr Attributes operator&(Attributes a, Attributes b) {
  return static_cast<Attributes>(transport::to_integer(a) & transport::to_integer(b));
}
/// `a` without those in `b`.
constexpr Attributes operator-(Attributes a, Attributes b) {
  return static_cast<Attributes>(transport::to_integer(a) & ~transport::to_integer(b));
}

/// Those that are present.
Attributes present_in(const QpAttributes& attributes);

/// Whether a queue pair of this type may go from `from` to `to` when `given` are given: nothing that the
/// transition needs may be missing, nothing that it does not allow may be there. The same rules as the Linux
/// kernel's for every RDMA device, without alternate paths. EINVAL with the reason; EOPNOTSUPP: one for RSS
/// has no states.
Result<void, Error> check_transition(QpType type, transport::QpState from, transport::QpState to,
                                     Attributes given);

/// A transition that is legal, with what it needs and what it allows besides.
struct Transition {
  transport::QpState from{};
  transport::QpState to{};
  Attributes required = Attributes::kNone;
  Attributes optional = Attributes::kNone;
};

/// All that check_transition() accepts for this type, by the state that they begin in.
std::vector<Transition> transitions_of(QpType type);

/// The attributes of the set by the names of libibverbs, without IBV_QP_.
std::vector<std::string_view> names_of(Attributes set);

/// Whether the attributes that are present have values that any device could use: those that depend on this
/// one (path MTU, address) are checked elsewhere. EINVAL with the reason.
Result<void, Error> check_ranges(const QpAttributes& attributes, const Personality& nic);

/// `changes` over `current`.
QpAttributes merged(const QpAttributes& current, const QpAttributes& changes);

}  // namespace urnic::nic
