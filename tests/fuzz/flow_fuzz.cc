// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: flow attributes from any program, and any frame that is steered by the rules made from them.
//
// The input is a number of rules, the rules, and a frame. A rule is the length of its attributes, as one
// byte, and the attributes: struct ibv_flow_attr and the specifications after it. Its size is set to the true
// one, as programs must do. Nothing may read beyond the attributes or the frame, and what each rule says
// alone must decide which queue pairs get the frame.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "nic/raw/flow_match.h"
#include "nic/raw/flow_table.h"
#include "verbs_api/flow/flow_attributes.h"

namespace urnic::nic {
namespace {

using transport::QpNumber;
using Bytes = std::span<const std::uint8_t>;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// Takes up to `size` bytes from the front of `input`.
Bytes take(Bytes& input, std::size_t size) {
  const Bytes taken = input.first(std::min(size, input.size()));
  input = input.subspan(taken.size());
  return taken;
}

std::uint8_t take_byte(Bytes& input) {
  const Bytes taken = take(input, 1);
  return taken.empty() ? std::uint8_t{0} : taken[0];
}

/// In memory of exactly their size, so that a sanitizer sees a read beyond the end.
std::optional<FlowRule> rule_from(Bytes bytes) {
  constexpr std::size_t kHeaderBytes = sizeof(ibv_flow_attr);
  const std::size_t size = std::max(bytes.size(), kHeaderBytes);
  const std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(size);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(memory.get()));
  auto& attributes = *reinterpret_cast<ibv_flow_attr*>(memory.get());
  attributes.size = static_cast<std::uint16_t>(size);
  if (size == kHeaderBytes) attributes.num_of_specs = 0;  // there are none
  const auto wish = verbs_api::to_flow_rule(attributes);
  if (!wish) {
    require(wish.error().code == EINVAL || wish.error().code == EOPNOTSUPP, "a refusal is one of the two");
    require(!wish.error().message.empty(), "a refusal has a reason");
    return std::nullopt;
  }
  const FlowRule& rule = wish.value().rule;
  require(rule.kind == FlowKind::kNormal || rule.traps, "only normal rules do not trap");
  return rule;
}

/// The queue pairs that get the frame, worked out from each rule alone. Rule number i belongs to queue pair i
/// + 1.
struct Expected {
  std::set<QpNumber> receivers;
  std::set<QpNumber> by_default;
  bool is_trapped = false;
};

Expected expect(const std::vector<FlowRule>& rules, std::span<const std::byte> frame) {
  Expected expected;
  const FlowHeaders headers = FlowHeaders::read(frame);
  std::optional<std::uint16_t> trapping;
  for (const FlowRule& rule : rules) {
    const bool can_trap = rule.kind == FlowKind::kNormal && rule.traps && matches(rule, headers);
    if (can_trap && (!trapping || rule.priority < *trapping)) trapping = rule.priority;
  }
  const bool is_for_group =
      !frame.empty() && frame.size() >= 6 && (std::to_integer<unsigned>(frame[0]) & 1u) != 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const FlowRule& rule = rules[i];
    const QpNumber qp{static_cast<std::uint32_t>(i + 1)};
    const bool comes_in_time = !trapping || rule.priority <= *trapping;
    switch (rule.kind) {
      case FlowKind::kNormal:
        if (comes_in_time && matches(rule, headers)) expected.receivers.insert(qp);
        break;
      case FlowKind::kSniffer:
        expected.receivers.insert(qp);
        break;
      case FlowKind::kAllDefault:
        expected.by_default.insert(qp);
        break;
      case FlowKind::kMulticastDefault:
        if (is_for_group) expected.by_default.insert(qp);
    }
  }
  expected.is_trapped = trapping.has_value();
  return expected;
}

std::set<QpNumber> set_of(std::span<const QpNumber> numbers) {
  const std::set<QpNumber> set(numbers.begin(), numbers.end());
  require(set.size() == numbers.size(), "a queue pair gets a frame once");
  return set;
}

void try_input(Bytes input) {
  FlowTable table;
  std::vector<FlowRule> rules;
  for (unsigned i = take_byte(input) % 8; i > 0; --i) {
    const std::uint8_t size = take_byte(input);
    const auto rule = rule_from(take(input, size));
    if (!rule) continue;
    rules.push_back(*rule);
    table.add(*rule, QpNumber{static_cast<std::uint32_t>(rules.size())});
  }
  const std::vector<std::uint8_t> copy(input.begin(), input.end());
  const auto frame = std::as_bytes(std::span(copy));
  const Expected expected = expect(rules, frame);
  const FlowTable::Verdict verdict = table.steer(frame);
  require(verdict.is_trapped == expected.is_trapped, "a rule traps what matches it");
  require(set_of(verdict.receivers) == expected.receivers, "rules go by priority");
  require(set_of(table.take_unclaimed(frame)) == expected.by_default, "default rules take the rest");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    table.remove_all_of(QpNumber{static_cast<std::uint32_t>(i + 1)});
  }
  require(table.is_empty() && table.steer(frame).receivers.empty(), "no rule is left");
}

}  // namespace
}  // namespace urnic::nic

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::nic::try_input({data, size});
  return 0;
}
