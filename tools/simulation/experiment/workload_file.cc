// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/workload_file.h"

#include <fmt/core.h>

#include <array>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "nic/recovery_text.h"
#include "tools/simulation/experiment/patterns.h"

namespace urnic::experiment {
namespace {

using network::Members;
using Json = nlohmann::ordered_json;

/// What every job may have.
constexpr std::string_view kJobMembers[] = {"pattern", "name",     "start", "hosts",  "bytes",    "message",
                                            "posted",  "elements", "dscp",  "repeat", "operation"};

constexpr std::pair<std::string_view, Operation> kOperations[] = {
    {"write", Operation::kWrite},
    {"write_with_immediate", Operation::kWriteWithImmediate},
    {"send", Operation::kSend},
    {"read", Operation::kRead},
};

template <typename Range, typename NameOf>
std::string names_of(const Range& range, NameOf name_of) {
  std::string names;
  for (const auto& item : range) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(item));
  return names;
}

class WorkloadReader {
 public:
  WorkloadReader(const network::Topology& topology, std::uint64_t seed)
      : topology_(topology), random_(seed) {}

  Result<Workload, Error> read(const Json& document) {
    const Members members(document, "",
                          {"name", "path_mtu", "congestion", "ack_timeout", "retry_count", "window",
                           "recovery", "until", "faults", "jobs"},
                          complaint_);
    members.read_text("name", workload_.name);
    read_queue_pairs(members);
    read_congestion(members);
    members.read_duration("until", workload_.until);
    if (const Json* const faults = members.find("faults")) read_faults(*faults);
    read_jobs(members);
    if (complaint_.is_made()) return complaint_.error();
    return std::move(workload_);
  }

 private:
  void read_queue_pairs(const Members& members) {
    std::uint64_t mtu = transport::bytes(workload_.path_mtu);
    if (members.read_whole("path_mtu", 256, 4096, mtu)) {
      if ((mtu & (mtu - 1)) != 0) {
        complaint_.add("path_mtu", fmt::format("there are 256, 512, 1024, 2048, 4096; not {}", mtu));
      }
      workload_.path_mtu = static_cast<transport::PathMtu>(mtu);
    }
    std::uint64_t number = 0;
    if (members.read_whole("ack_timeout", 0, 31, number)) {
      workload_.ack_timeout = static_cast<std::uint8_t>(number);
    }
    if (members.read_whole("retry_count", 0, 7, number)) {
      workload_.retry_count = static_cast<std::uint8_t>(number);
    }
    if (members.read_whole("window", 1, 65536, number)) {
      workload_.window_packets = static_cast<std::uint32_t>(number);
    }
    std::string text;
    if (!members.read_text("recovery", text)) return;
    const auto recovery = nic::parse_recovery(text);
    if (recovery) workload_.recovery = recovery.value();
    if (!recovery) complaint_.add("recovery", recovery.error().message);
  }

  void read_congestion(const Members& members) {
    std::string text;
    if (!members.read_text("congestion", text)) return;
    const auto options = nic::parse_congestion(text);
    if (options) workload_.congestion = options.value();
    if (!options) complaint_.add("congestion", options.error().message);
  }

  void read_faults(const Json& faults) {
    if (!faults.is_object()) {
      complaint_.add("faults", fmt::format("an object of hosts and their faults belongs here, not {}",
                                           network::shown(faults)));
      return;
    }
    for (const auto& item : faults.items()) {
      const std::string path = "faults." + item.key();
      const auto host = find_host(item.key());
      if (!host) {
        complaint_.add("faults",
                       fmt::format("the topology has no host {}", network::shown(Json(item.key()))));
      }
      if (!item.value().is_string()) {
        complaint_.add(
            path, fmt::format("a text as after --fault belongs here, not {}", network::shown(item.value())));
      }
      if (complaint_.is_made()) return;
      auto spec = drivers::FaultSpec::parse(item.value().get_ref<const std::string&>());
      if (spec) workload_.faults.emplace(*host, std::move(spec.value()));
      if (!spec) complaint_.add(path, spec.error().message);
    }
  }

  std::optional<HostId> find_host(std::string_view name) const {
    for (std::size_t i = 0; i < topology_.hosts.size(); ++i) {
      if (topology_.hosts[i].name == name) return HostId(i);
    }
    return std::nullopt;
  }

  void read_jobs(const Members& members) {
    const Json* const jobs = members.require("jobs");
    if (jobs == nullptr) return;
    if (!jobs->is_array() || jobs->empty()) {
      complaint_.add("jobs", fmt::format("a list [...] of jobs belongs here, not {}", network::shown(*jobs)));
      return;
    }
    for (std::size_t i = 0; i < jobs->size() && !complaint_.is_made(); ++i) {
      read_job((*jobs)[i], fmt::format("jobs[{}]", i));
    }
  }

  const Pattern* find_pattern(const Json& value, const std::string& path) {
    const Json* const name = value.is_object() && value.contains("pattern") ? &value["pattern"] : nullptr;
    for (const Pattern& pattern : patterns()) {
      if (name != nullptr && name->is_string() && name->get_ref<const std::string&>() == pattern.name) {
        return &pattern;
      }
    }
    complaint_.add(path, fmt::format("'pattern' is one of {}",
                                     names_of(patterns(), [](const Pattern& it) { return it.name; })));
    return nullptr;
  }

  void read_job(const Json& value, const std::string& path) {
    const Pattern* const pattern = find_pattern(value, path);
    if (pattern == nullptr) return;
    std::vector<std::string_view> known(std::begin(kJobMembers), std::end(kJobMembers));
    std::vector<std::string_view> own;
    boost::split(own, pattern->members, boost::is_any_of(" "), boost::token_compress_on);
    known.insert(known.end(), own.begin(), own.end());
    const Members members(value, path, known, complaint_);

    Job job;
    job.name = std::string(pattern->name);
    members.read_text("name", job.name);
    members.read_duration("start", job.start);
    PatternInput input{.members = members,
                       .complaint = complaint_,
                       .topology = topology_,
                       .hosts = hosts_of(members),
                       .random = random_};
    members.require("bytes");
    members.read_size("bytes", input.bytes);
    if (members.has("bytes") && input.bytes == 0) {
      complaint_.add(members.path_of("bytes"), "1 byte or more belongs here");
    }
    input.operation = read_operation(members, *pattern);
    read_messages(members, *pattern, input, job);
    std::uint64_t repeat = 1;
    members.read_whole("repeat", 1, 100'000, repeat);
    if (complaint_.is_made()) return;

    workload_.jobs.push_back(job);
    for (std::uint64_t i = 0; i < repeat && !complaint_.is_made(); ++i) {
      add_repetition(*pattern, input, i == 0);
    }
  }

  std::vector<HostId> hosts_of(const Members& members) {
    std::vector<HostId> hosts = read_hosts(members, "hosts", topology_, complaint_);
    if (!members.has("hosts")) {
      for (std::size_t i = 0; i < topology_.hosts.size(); ++i) hosts.push_back(HostId(i));
    }
    if (hosts.size() < 2) complaint_.add(members.path_of("hosts"), "two hosts or more belong here");
    return hosts;
  }

  Operation read_operation(const Members& members, const Pattern& pattern) {
    std::string text;
    if (!members.read_text("operation", text)) return pattern.operation;
    for (const auto& [name, operation] : kOperations) {
      if (name != text) continue;
      if (operation == Operation::kRead && !pattern.may_read) {
        complaint_.add(members.path_of("operation"),
                       fmt::format("steps of {} wait for what others send, and who is read from never knows",
                                   pattern.name));
      }
      return operation;
    }
    complaint_.add(members.path_of("operation"),
                   fmt::format("there are {}; not \"{}\"",
                               names_of(kOperations, [](const auto& it) { return it.first; }), text));
    return pattern.operation;
  }

  void read_messages(const Members& members, const Pattern& pattern, const PatternInput& input, Job& job) {
    // A page of a cache, a block of a file and a token are messages of their own.
    const bool is_of_units =
        pattern.operation == Operation::kWriteWithImmediate || pattern.operation == Operation::kRead;
    std::uint64_t message = is_of_units ? input.bytes : 1024 * 1024;
    members.read_size("message", message);
    if (message < 1 || message > Workload::kMaxMessageBytes) {
      complaint_.add(members.path_of("message"),
                     fmt::format("1 byte to {} belong here, not {}", Workload::kMaxMessageBytes, message));
    }
    job.message_bytes = static_cast<std::uint32_t>(message);
    std::uint64_t number = is_of_units ? 32 : 4;
    members.read_whole("posted", 1, Workload::kMaxMessagesPosted, number);
    job.messages_posted = static_cast<std::uint32_t>(number);
    number = 1;
    members.read_whole("elements", 1, 16, number);
    job.elements = static_cast<std::uint32_t>(number);
    number = 0;
    members.read_whole("dscp", 0, network::kDscps - 1, number);
    job.dscp = static_cast<std::uint8_t>(number);
  }

  /// The steps once more. Where a host began before, it begins when it knows that its part of the last
  /// repetition is over.
  void add_repetition(const Pattern& pattern, const PatternInput& input, bool is_first) {
    StepList list;
    pattern.make(input, list);
    if (complaint_.is_made()) return;
    const std::vector<std::size_t> barriers = is_first ? std::vector<std::size_t>() : add_barriers();
    const std::size_t first = workload_.steps.size();
    for (Step& step : list.steps()) {
      for (std::size_t& number : step.after) number += first;
      if (step.after.empty() && !is_first) step.after = {barriers[static_cast<std::size_t>(step.host)]};
      add(std::move(step));
    }
    repetition_ = first;
    if (list.is_too_long() || workload_.steps.size() > Workload::kMaxSteps ||
        before_ > Workload::kMaxBefore) {
      complaint_.add(input.members.path_of("pattern"),
                     fmt::format("the workload has more than {} steps, or they wait for more than {} others: "
                                 "fewer or smaller jobs",
                                 Workload::kMaxSteps, Workload::kMaxBefore));
    }
  }

  /// For each host a step that is over when it knows so of all of the last repetition.
  std::vector<std::size_t> add_barriers() {
    std::vector<Step> barriers(topology_.hosts.size());
    for (std::size_t i = repetition_; i < workload_.steps.size(); ++i) {
      const Step& step = workload_.steps[i];
      barriers[static_cast<std::size_t>(step.host)].after.push_back(i);
      const bool is_told = step.operation != Operation::kRead && step.peer != step.host;
      if (is_told) barriers[static_cast<std::size_t>(step.peer)].after.push_back(i);
    }
    std::vector<std::size_t> numbers;
    for (std::size_t host = 0; host < barriers.size(); ++host) {
      barriers[host].operation = Operation::kCompute;
      barriers[host].host = barriers[host].peer = HostId(host);
      numbers.push_back(workload_.steps.size());
      add(std::move(barriers[host]));
    }
    return numbers;
  }

  void add(Step step) {
    step.job = workload_.jobs.size() - 1;
    before_ += step.after.size();
    workload_.steps.push_back(std::move(step));
  }

  const network::Topology& topology_;
  network::Random random_;
  network::Complaint complaint_;
  Workload workload_;
  std::size_t repetition_ = 0;  // its first step
  std::size_t before_ = 0;
};

Error about_workload(const Error& error) {
  return {.code = error.code, .message = "workload: " + error.message};
}

}  // namespace

Result<Workload, Error> parse_workload(std::string_view text, const network::Topology& topology,
                                       std::uint64_t seed) {
  const auto document = network::parse_json(text);
  if (!document) return about_workload(document.error());
  auto workload = WorkloadReader(topology, seed).read(document.value());
  if (!workload) return about_workload(workload.error());
  return workload;
}

}  // namespace urnic::experiment
