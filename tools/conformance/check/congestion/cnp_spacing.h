// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How far apart a sender's CNPs are, and whether that is what the user says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tools/conformance/check/congestion/policy.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/flow_key.h"

namespace urnic::check {

/// Distances between one CNP and the next, in nanoseconds.
class Distances {
 public:
  void add(std::int64_t ns);
  std::uint64_t count() const { return count_; }
  std::int64_t least() const { return least_; }
  /// The median of up to kSample of them, which are spread evenly over all.
  std::int64_t typical() const;

 private:
  static constexpr std::size_t kSample = 32;
  std::uint64_t count_ = 0;
  std::int64_t least_ = 0;
  std::uint64_t step_ = 1;  ///< one of so many is kept
  std::size_t kept_ = 0;
  std::array<std::int64_t, kSample> sample_{};
};

/// One address that sends CNPs, or is to.
struct CnpSender {
  Address address;
  std::uint64_t cnps = 0;
  std::uint64_t expected =
      0;  ///< by the policy: packets marked on their way to it, as far apart as its CNPs may be
  std::array<Distances, kCnpScopes> distances{};  ///< by CnpScope
};

/// Memory grows with the flows that it is told of.
class CnpSpacing {
 public:
  CnpSpacing(Findings& findings, const CongestionPolicy& policy) : findings_(findings), policy_(policy) {}

  /// A CNP of `flow`, which is not damaged and no copy.
  void on_cnp(std::uint32_t flow, const FlowKey& key, std::uint64_t number, std::int64_t time_ns);
  /// A marked packet of the flow `key`, which carries data.
  void on_mark(const FlowKey& key, std::int64_t time_ns);

  /// In the order in which they were seen.
  std::span<const CnpSender> senders() const { return senders_; }
  bool has_policy() const { return policy_.cnp_spacing_ns > 0; }
  std::uint64_t cnps_of(const Address& sender) const;

 private:
  struct Last {
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
  };
  using LastByKey = std::unordered_map<FlowKey, Last, FlowKeyHash>;

  CnpSender& sender(const Address& address);
  void judge(std::uint32_t flow, const Last& last, const Last& now);

  Findings& findings_;
  CongestionPolicy policy_;
  std::vector<CnpSender> senders_;
  std::unordered_map<FlowKey, std::size_t, FlowKeyHash> index_;  ///< of senders, by address alone
  std::array<LastByKey, kCnpScopes> last_{};
  LastByKey last_expected_;
};

}  // namespace urnic::check
