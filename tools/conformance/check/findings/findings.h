// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What was found, within bounded memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/conformance/check/findings/makers.h"
#include "tools/conformance/check/findings/rule.h"

namespace urnic::check {

/// Belongs to what is seen where absence is the evidence.
inline constexpr const char* kUnlessLost = "; or the capture lacks frames (--lossy says that it may)";

inline constexpr std::uint32_t kNoFlow = UINT32_MAX;

/// One finding, or for habits all of one connection's of one rule.
struct Finding {
  Rule rule = Rule::kCount;
  Severity severity = Severity::kViolation;
  std::uint32_t flow = kNoFlow;         ///< index into the connections table
  std::vector<std::uint64_t> frames{};  ///< the frames that show it; the last is where it was noticed
  std::uint64_t count = 1;              ///< how often, for habits
  std::string expected{};
  std::string seen{};
};

/// What the checker was told about the capture.
struct Policy {
  Makers makers = Makers::kEvery;  ///< whose habits are no violations
  bool lossy = false;  ///< frames may be missing from the capture, so that nothing follows from their absence
  std::uint32_t path_mtu = 0;  ///< of all connections, in bytes; 0: what the capture shows
};

/// Collects findings. Counts all of them, keeps the text of the first kKept of each rule.
class Findings {
 public:
  static constexpr std::size_t kKept = 200;

  explicit Findings(Policy policy) : policy_(policy) {}

  /// Adds a finding about `frames`. `describe(Finding&)` fills in the texts, and is called only if they are
  /// kept.
  template <typename Describe>
  void add(Rule rule, std::uint32_t flow, std::initializer_list<std::uint64_t> frames, Describe describe) {
    if (Finding* const finding = place_for(rule, severity_of(rule), flow, frames)) describe(*finding);
  }
  void add(Rule rule, std::uint32_t flow, std::initializer_list<std::uint64_t> frames, std::string expected,
           std::string seen) {
    add(rule, flow, frames, [&](Finding& finding) {
      finding.expected = std::move(expected);
      finding.seen = std::move(seen);
    });
  }

  /// The same for a rule that is broken only if the capture has every frame, and if `is_sure`.
  void add_if_complete(Rule rule, std::uint32_t flow, std::initializer_list<std::uint64_t> frames,
                       std::string expected, std::string seen, bool is_sure = true);

  /// The capture was found to lack frames: from now on nothing follows from absence.
  void set_lossy() { policy_.lossy = policy_.lossy || !muted_; }
  bool is_lossy() const { return policy_.lossy; }
  std::uint32_t path_mtu() const { return policy_.path_mtu; }

  /// From now on only what flows break that show() names is kept; the rest is counted as left out.
  void choose() { is_choosing_ = true; }
  void show(std::uint32_t flow) { shown_.insert(flow); }
  std::uint64_t left_out_of(Severity severity) const { return left_out_[static_cast<std::size_t>(severity)]; }

  /// While muted, nothing is added: a damaged packet moves the models on and breaks no further rules.
  void mute(bool muted) { muted_ = muted; }

  const std::vector<Finding>& kept() const { return kept_; }
  std::uint64_t count_of(Rule rule) const { return counts_[static_cast<std::size_t>(rule)]; }
  std::uint64_t count_of(Severity severity) const { return by_severity_[static_cast<std::size_t>(severity)]; }

 private:
  Severity severity_of(Rule rule) const;
  Finding* place_for(Rule rule, Severity severity, std::uint32_t flow,
                     std::initializer_list<std::uint64_t> frames);

  Policy policy_;
  bool muted_ = false;
  std::vector<Finding> kept_;
  std::map<std::pair<Rule, std::uint32_t>, std::size_t> habits_;  ///< where in kept_
  std::array<std::uint64_t, kRules> counts_{};
  std::array<std::uint64_t, kSeverities> by_severity_{};
  bool is_choosing_ = false;
  std::unordered_set<std::uint32_t> shown_;  ///< flows; looked at only while choosing
  std::array<std::uint64_t, kSeverities> left_out_{};
};

}  // namespace urnic::check
