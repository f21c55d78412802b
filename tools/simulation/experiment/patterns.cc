// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/patterns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace urnic::experiment {
namespace {

constexpr std::uint64_t kMost = 1'000'000;  // of whatever is counted

std::uint64_t count_of(const PatternInput& input, std::string_view name, std::uint64_t otherwise,
                       std::uint64_t most = kMost) {
  std::uint64_t count = otherwise;
  input.members.read_whole(name, 1, most, count);
  return count;
}

Duration compute_time(const PatternInput& input) {
  Duration time{};
  input.members.read_duration("compute", time);
  return time;
}

/// Data goes from `from` to `to`, whichever posts the work request.
Step message(const PatternInput& input, HostId from, HostId to, std::uint64_t bytes) {
  if (input.operation == Operation::kRead) std::swap(from, to);
  return {.operation = input.operation, .host = from, .peer = to, .bytes = bytes};
}

/// Adds a computation, or nothing when it takes no time; returns what has to be over then.
std::vector<std::size_t> compute(StepList& list, HostId host, Duration time, std::vector<std::size_t> after) {
  if (time == Duration{}) return after;
  return {list.add({.operation = Operation::kCompute,
                    .host = host,
                    .peer = host,
                    .after = std::move(after),
                    .duration = time})};
}

template <typename T>
void shuffle(std::vector<T>& values, network::Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.next() % i]);
}

void make_flow(const PatternInput& input, StepList& list) {
  const auto from = read_host(input.members, "from", input.topology, input.complaint);
  const auto to = read_host(input.members, "to", input.topology, input.complaint);
  if (from && to && *from == *to) {
    input.complaint.add(input.members.path_of("to"), "it is where the flow comes from");
  }
  if (from && to) list.add(message(input, *from, *to, input.bytes));
}

void make_incast(const PatternInput& input, StepList& list) {
  const auto to = read_host(input.members, "to", input.topology, input.complaint);
  if (!to) return;
  for (const HostId host : input.hosts) {
    if (host != *to) list.add(message(input, host, *to, input.bytes));
  }
}

void make_permutation(const PatternInput& input, StepList& list) {
  const std::size_t count = input.hosts.size();
  std::uint64_t shift = 0;
  if (input.members.read_whole("shift", 1, count - 1, shift)) {
    for (std::size_t i = 0; i < count; ++i) {
      list.add(message(input, input.hosts[i], input.hosts[(i + shift) % count], input.bytes));
    }
    return;
  }
  // One cycle through all hosts in a random order: each sends to one other and receives from one.
  std::vector<HostId> order = input.hosts;
  shuffle(order, input.random);
  for (std::size_t i = 0; i < count; ++i) {
    list.add(message(input, order[i], order[(i + 1) % count], input.bytes));
  }
}

void make_all_to_all(const PatternInput& input, StepList& list) {
  const std::size_t count = input.hosts.size();
  // Each begins with its next neighbor, so that they do not all send to the same one first.
  for (std::size_t shift = 1; shift < count; ++shift) {
    for (std::size_t i = 0; i < count; ++i) {
      list.add(message(input, input.hosts[i], input.hosts[(i + shift) % count], input.bytes));
    }
  }
}

void make_ring_all_reduce(const PatternInput& input, StepList& list) {
  const std::size_t count = input.hosts.size();
  const std::uint64_t chunk = std::max<std::uint64_t>(1, (input.bytes + count - 1) / count);
  const Duration reduction = compute_time(input);
  std::vector<std::vector<std::size_t>> ready(count);  // what each waits for before it sends on
  const std::size_t rounds = 2 * (count - 1);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<std::size_t>> next(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t neighbor = (i + 1) % count;
      Step step = message(input, input.hosts[i], input.hosts[neighbor], chunk);
      step.after = ready[i];
      const std::size_t sent = list.add(std::move(step));
      // In the first half what comes is added to what is there, in the second one it is passed on.
      next[neighbor] =
          compute(list, input.hosts[neighbor], round + 1 < count ? reduction : Duration{}, {sent});
    }
    ready = std::move(next);
  }
}

void make_tree_all_reduce(const PatternInput& input, StepList& list) {
  const std::size_t count = input.hosts.size();
  const std::uint64_t chunks = count_of(input, "chunks", 1);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, (input.bytes + chunks - 1) / chunks);
  const Duration reduction = compute_time(input);
  for (std::uint64_t c = 0; c < chunks && !list.is_too_long(); ++c) {
    // Host i's parent is (i - 1) / 2. Upwards from the leaves, then downwards from the root.
    std::vector<std::vector<std::size_t>> arrived(count);
    for (std::size_t i = count - 1; i > 0; --i) {
      Step step = message(input, input.hosts[i], input.hosts[(i - 1) / 2], chunk);
      step.after = compute(list, input.hosts[i], arrived[i].empty() ? Duration{} : reduction, arrived[i]);
      arrived[(i - 1) / 2].push_back(list.add(std::move(step)));
    }
    std::vector<std::vector<std::size_t>> has_result(count);
    has_result[0] = compute(list, input.hosts[0], reduction, arrived[0]);
    for (std::size_t i = 1; i < count; ++i) {
      Step step = message(input, input.hosts[(i - 1) / 2], input.hosts[i], chunk);
      step.after = has_result[(i - 1) / 2];
      has_result[i] = {list.add(std::move(step))};
    }
  }
}

void make_pipeline(const PatternInput& input, StepList& list) {
  const std::uint64_t batches = count_of(input, "microbatches", 8);
  Duration work = compute_time(input);
  if (work == Duration{}) work = Duration(1);  // a stage does one at a time
  std::vector<std::optional<std::size_t>> worked(input.hosts.size());
  for (std::uint64_t batch = 0; batch < batches && !list.is_too_long(); ++batch) {
    std::optional<std::size_t> arrived;
    for (std::size_t stage = 0; stage < input.hosts.size(); ++stage) {
      std::vector<std::size_t> after;
      if (arrived) after.push_back(*arrived);
      if (worked[stage]) after.push_back(*worked[stage]);
      worked[stage] = compute(list, input.hosts[stage], work, std::move(after)).front();
      if (stage + 1 == input.hosts.size()) break;
      Step step = message(input, input.hosts[stage], input.hosts[stage + 1], input.bytes);
      step.after = {*worked[stage]};
      arrived = list.add(std::move(step));
    }
  }
}

/// How many tokens of one host go to each of the experts: `choices` different ones for each token, the
/// popular ones more often.
std::vector<std::uint64_t> routed(std::uint64_t tokens, std::uint64_t choices,
                                  const std::vector<double>& weights, network::Random& random) {
  std::vector<std::uint64_t> counts(weights.size());
  std::vector<std::size_t> chosen;
  for (std::uint64_t token = 0; token < tokens; ++token) {
    std::vector<double> left = weights;
    for (std::uint64_t choice = 0; choice < choices; ++choice) {
      const double sum = std::accumulate(left.begin(), left.end(), 0.0);
      double point = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
      std::size_t expert = 0;
      while (expert + 1 < left.size() && (left[expert] == 0 || point >= left[expert])) {
        point -= left[expert++];
      }
      while (left[expert] == 0) expert = (expert + 1) % left.size();  // rounding led beyond the last one
      left[expert] = 0;
      ++counts[expert];
    }
  }
  return counts;
}

void make_moe(const PatternInput& input, StepList& list) {
  const std::size_t count = input.hosts.size();
  const std::uint64_t tokens = count_of(input, "tokens", 256, 100'000);
  const std::uint64_t choices = count_of(input, "top_k", std::min<std::uint64_t>(2, count), count);
  const Duration work = compute_time(input);
  double skew = 0;
  input.members.read_fraction("skew", skew);
  if (!(skew >= 0 && skew <= 10)) {
    input.complaint.add(input.members.path_of("skew"), "it is a number from 0 to 10");
  }
  std::uint64_t is_padded = 0;
  input.members.read_whole("padded", 0, 1, is_padded);
  if (input.complaint.is_made()) return;

  // Which expert is the most popular one is drawn; the n-th one gets 1 / n^skew of its share.
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = std::pow(static_cast<double>(i + 1), -skew);
  shuffle(weights, input.random);
  std::vector<std::vector<std::uint64_t>> counts;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    counts.push_back(routed(tokens, choices, weights, input.random));
    most = std::max(most, *std::max_element(counts.back().begin(), counts.back().end()));
  }
  for (std::size_t expert = 0; expert < count; ++expert) {
    std::vector<std::size_t> arrived;
    std::uint64_t own = 0;
    for (std::size_t host = 0; host < count; ++host) {
      own += counts[host][expert];
      const std::uint64_t sent = is_padded != 0 ? most : counts[host][expert];
      if (host == expert || sent == 0) continue;
      arrived.push_back(list.add(message(input, input.hosts[host], input.hosts[expert], sent * input.bytes)));
    }
    const std::vector<std::size_t> worked =
        compute(list, input.hosts[expert], work * static_cast<std::int64_t>(own), arrived);
    for (std::size_t host = 0; host < count; ++host) {
      const std::uint64_t sent = is_padded != 0 ? most : counts[host][expert];
      if (host == expert || sent == 0) continue;
      Step step = message(input, input.hosts[expert], input.hosts[host], sent * input.bytes);
      step.after = worked;
      list.add(std::move(step));
    }
  }
}

/// The lists "from" and "to", of the same length.
std::vector<std::pair<HostId, HostId>> read_pairs(const PatternInput& input) {
  input.members.require("from");
  input.members.require("to");
  const auto from = read_hosts(input.members, "from", input.topology, input.complaint);
  const auto to = read_hosts(input.members, "to", input.topology, input.complaint);
  if (from.size() != to.size()) {
    input.complaint.add(input.members.path_of("to"),
                        fmt::format("{} hosts belong here, as in 'from', not {}", from.size(), to.size()));
  }
  std::vector<std::pair<HostId, HostId>> pairs;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    if (from[i] == to[i]) input.complaint.add(input.members.path_of("to"), "a host cannot send to itself");
    pairs.emplace_back(from[i], to[i]);
  }
  return pairs;
}

void make_kv_push(const PatternInput& input, StepList& list) {
  const std::uint64_t pages = count_of(input, "pages", 1);
  const std::uint64_t layers = count_of(input, "layers", 1, 10'000);
  const Duration work = compute_time(input);
  for (const auto& [from, to] : read_pairs(input)) {
    std::vector<std::size_t> computed;
    // The pages of one layer leave while the next one is computed.
    for (std::uint64_t layer = 0; layer < layers && !list.is_too_long(); ++layer) {
      computed = compute(list, from, work, computed);
      Step step = message(input, from, to, pages * input.bytes);
      step.after = computed;
      list.add(std::move(step));
    }
  }
}

void make_storage(const PatternInput& input, StepList& list) {
  input.members.require("servers");
  const auto servers = read_hosts(input.members, "servers", input.topology, input.complaint);
  const std::uint64_t reads = count_of(input, "reads", 1000);
  const std::uint64_t depth = count_of(input, "outstanding", 8);
  if (servers.empty() || input.complaint.is_made()) return;
  for (const HostId client : input.hosts) {
    if (std::find(servers.begin(), servers.end(), client) != servers.end()) continue;
    std::vector<std::size_t> begun;
    for (std::uint64_t read = 0; read < reads && !list.is_too_long(); ++read) {
      Step step = message(input, servers[input.random.next() % servers.size()], client, input.bytes);
      if (read >= depth) step.after = {begun[read - depth]};
      begun.push_back(list.add(std::move(step)));
    }
  }
}

constexpr Pattern kPatterns[] = {
    {"flow", "from to", Operation::kWrite, true, make_flow},
    {"incast", "to", Operation::kWrite, true, make_incast},
    {"permutation", "shift", Operation::kWrite, true, make_permutation},
    {"all_to_all", "", Operation::kWrite, true, make_all_to_all},
    {"ring_all_reduce", "compute", Operation::kWrite, false, make_ring_all_reduce},
    {"tree_all_reduce", "compute chunks", Operation::kWrite, false, make_tree_all_reduce},
    {"pipeline", "compute microbatches", Operation::kSend, false, make_pipeline},
    {"moe", "compute tokens top_k skew padded", Operation::kWrite, false, make_moe},
    {"kv_push", "from to compute pages layers", Operation::kWriteWithImmediate, false, make_kv_push},
    {"storage", "servers reads outstanding", Operation::kRead, true, make_storage},
};

}  // namespace

std::size_t StepList::add(Step step) {
  if (is_too_long()) return 0;
  before_ += step.after.size();
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

std::span<const Pattern> patterns() {
  return kPatterns;
}

}  // namespace urnic::experiment
