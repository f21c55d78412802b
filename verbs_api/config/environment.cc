// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "nic/congestion/choice_text.h"
#include "nic/host/host_addresses.h"
#include "nic/host/random_bits.h"
#include "nic/recovery_text.h"
#include "verbs_api/adversary/spec.h"
#include "verbs_api/config/environment_values.h"
#include "verbs_api/config/identity.h"
#include "verbs_api/config/variables.h"

namespace urnic::verbs_api {
namespace {

using nic::PortSpec;

/// Two runs over a bench are alike unless the user wants them to differ.
constexpr std::uint64_t kBenchSeed = 1;

Result<bool, Error> parse_flag(std::string_view text) {
  if (text != "0" && text != "1") return Error{.code = EINVAL, .message = "not 0 or 1"};
  return text == "1";
}

/// Whether every packet has one.
Result<bool, Error> parse_icrc(std::string_view text) {
  if (text != "wires" && text != "always") {
    return Error{.code = EINVAL, .message = "not 'wires' or 'always'"};
  }
  return text == "always";
}

Result<nic::ProgressMode, Error> parse_progress(std::string_view text) {
  if (text != "hybrid" && text != "thread") {
    return Error{.code = EINVAL, .message = "not 'hybrid' or 'thread'"};
  }
  return text == "hybrid" ? nic::ProgressMode::kHybrid : nic::ProgressMode::kThread;
}

Result<nic::Type2Windows, Error> parse_type_2_windows(std::string_view text) {
  if (text != "2A" && text != "2B") return Error{.code = EINVAL, .message = "not '2A' or '2B'"};
  return text == "2A" ? nic::Type2Windows::k2A : nic::Type2Windows::k2B;
}

/// Two devices cannot write one file: where both were given the same, the name of the further one tells.
std::string file_of_device(const Variables& variables, const char* name) {
  const std::string file(variables.text(name).value_or(""));
  const bool is_shared = variables.device() > 0 && variables.full_name(name) == name;
  return is_shared && !file.empty() ? fmt::format("{}.urnic{}", file, variables.device()) : file;
}

/// Calls are the process's, whatever device they are about.
Result<void, Error> check_faults(const Variables& variables, const FaultList& faults) {
  constexpr const char* kName = "URNIC_FAULT";
  const bool is_own = variables.device() > 0 && variables.full_name(kName) != kName;
  if (!is_own || !faults.has_any_of_calls()) return success();
  return invalid(variables, kName,
                 "faults of calls (verb:, async:) count for all devices: give them in URNIC_FAULT");
}

/// What an adversary does to frames, and its events.
Result<FaultList, Error> draw_faults(const nic::AdversarySettings& settings) {
  auto drawn = FaultList::parse(faults_of(settings));
  if (!drawn) return drawn;
  for (AsyncFault& event : drawn.value().events) event.text.clear();
  return drawn;
}

Result<NicEnvironment, Error> read_device(const Variables& variables) {
  NicEnvironment environment;
  environment.pcap_file = file_of_device(variables, "URNIC_PCAP");
  environment.record_file = file_of_device(variables, "URNIC_RECORD");
  const auto faults = read(variables, "URNIC_FAULT", FaultList::parse);
  if (!faults) return faults.error();
  environment.faults = faults.value().value_or(FaultList{});
  if (const auto fine = check_faults(variables, environment.faults); !fine) return fine.error();
  const auto chaos = read(variables, "URNIC_CHAOS", parse_adversary);
  if (!chaos) return chaos.error();
  environment.chaos = chaos.value();
  if (environment.chaos) {
    auto drawn = draw_faults(*environment.chaos);
    if (!drawn) return drawn.error();
    environment.drawn_faults = std::move(drawn.value());
  }
  const auto icrc = read(variables, "URNIC_ICRC", parse_icrc);
  if (!icrc) return icrc.error();
  environment.has_icrc_always = icrc.value().value_or(false);
  const auto verbose = read(variables, "URNIC_VERBOSE", parse_flag);
  if (!verbose) return verbose.error();
  environment.verbose = verbose.value().value_or(false);

  nic::DeviceConfig& device = environment.device;
  environment.number = variables.device();
  device.name = fmt::format("urnic{}", environment.number);
  environment.paths_folder = variables.text("URNIC_PATHS").value_or("");
  const auto explain = read(variables, "URNIC_EXPLAIN", parse_flag);
  if (!explain) return explain.error();
  environment.explains = explain.value().value_or(false);
  const auto sanitizer = read(variables, "URNIC_SANITIZER", SanitizerSettings::parse);
  if (!sanitizer) return sanitizer.error();
  environment.sanitizer = sanitizer.value();
  device.explain = environment.explains || environment.sanitizer.has_value();
  device.tells_of_missing_receives =
      environment.sanitizer && (environment.sanitizer->wants(Finding::kReceivePostedLate) ||
                                environment.sanitizer->wants(Finding::kDatagramDropped));
  const auto like = read(variables, "URNIC_LIKE", parse_like);
  if (!like) return like.error();
  environment.like = like.value().value_or(Likeness{}).column;
  device.personality = &nic::personality_of(environment.like);
  device.identity = like.value().value_or(Likeness{}).identity;
  const auto seed = read(variables, "URNIC_SEED", parse_seed);
  if (!seed) return seed.error();
  device.seed = seed.value() ? *seed.value() : nic::random_bits();
  const auto progress = read(variables, "URNIC_PROGRESS", parse_progress);
  if (!progress) return progress.error();
  device.progress = progress.value().value_or(nic::ProgressMode::kHybrid);
  const auto processors = read(variables, "URNIC_CPUS", parse_processors);
  if (!processors) return processors.error();
  environment.processors = processors.value().value_or(std::vector<unsigned>{});
  const auto windows = read(variables, "URNIC_MW_TYPE_2", parse_type_2_windows);
  if (!windows) return windows.error();
  device.type_2_windows = windows.value().value_or(nic::Type2Windows::k2B);
  const auto congestion = read(variables, "URNIC_CC", nic::parse_congestion);
  if (!congestion) return congestion.error();
  if (congestion.value()) {
    device.congestion = congestion.value()->choice;
    device.congestion_notifications = congestion.value()->notifications;
  }
  const auto recovery = read(variables, "URNIC_RECOVERY", nic::parse_recovery);
  if (!recovery) return recovery.error();
  device.recovery = recovery.value().value_or(device.recovery);
  const auto ipv4 = read(variables, "URNIC_IP", parse_ipv4_interface);
  if (!ipv4) return ipv4.error();
  device.ipv4 = ipv4.value();
  const auto ipv6 = read(variables, "URNIC_IP6", parse_ipv6_interface);
  if (!ipv6) return ipv6.error();
  device.ipv6 = ipv6.value();

  if (const auto identity = read_identity(variables, environment); !identity) return identity.error();
  if (environment.port.kind == PortSpec::Kind::kBench) {
    if (progress.value()) {
      return invalid(variables, "URNIC_PROGRESS", "over the port bench, time goes on in one way only");
    }
    device.progress = nic::ProgressMode::kLockStep;
    // The program answers as soon as its time goes on, if it does: there is nothing to wait for.
    device.ack_delay = transport::Duration::zero();
    device.seed = seed.value().value_or(kBenchSeed);
    environment.granted_clock = std::make_unique<nic::GrantedClock>();
  }
  return environment;
}

/// A port that two NICs of a process cannot have both.
bool is_for_one_nic(const PortSpec& port) {
  using Kind = PortSpec::Kind;
  const bool has_all_addresses = port.kind == Kind::kHost && !port.is_each;
  return has_all_addresses || port.kind == Kind::kUdp || port.kind == Kind::kPci ||
         port.kind == Kind::kAfXdp || port.kind == Kind::kBench;
}

Error no_such_devices(unsigned count, const PortSpec& port) {
  return {.code = EINVAL,
          .message =
              fmt::format("URNIC_DEVICES='{}': the port {} is for one NIC alone; {}", count, port.to_string(),
                          port.has_host_addresses()
                              ? "use --port host,each, which makes one for each interface, or --port "
                                "fabric"
                              : "give each device a port of its own (URNIC_PORT_1 and so on)")};
}

/// How many devices the process has: what the user says, or one for each interface of the host.
Result<unsigned, Error> count_devices(const Variables& variables) {
  const auto wanted = read(variables, "URNIC_DEVICES", parse_devices);
  if (!wanted) return wanted.error();
  const auto choice = read_port(variables);
  if (!choice) return choice.error();
  const PortSpec& port = choice.value().port;
  if (!port.is_each) return wanted.value().value_or(1);
  const auto interfaces = nic::find_addresses_of_each_interface(wait_for_addresses(variables));
  if (!interfaces) return interfaces.error();
  const std::size_t there = interfaces.value().size();
  if (!wanted.value() && there > kMaxDevices) {
    return Error{
        .code = EINVAL,
        .message = fmt::format("this host has {} interfaces with addresses, and a program can have {} "
                               "devices: --devices {} (URNIC_DEVICES) takes the first of them",
                               there, kMaxDevices, kMaxDevices)};
  }
  if (!wanted.value()) return static_cast<unsigned>(there);
  if (*wanted.value() <= there) return *wanted.value();
  return invalid(variables, "URNIC_DEVICES",
                 fmt::format("this host has {} interfaces with addresses, and {} makes one device for each",
                             there, port.to_string()));
}

/// Two devices cannot have a port that is for one.
Result<void, Error> check_ports(unsigned count) {
  std::vector<PortSpec> ports;
  for (unsigned device = 0; device < count; ++device) {
    const auto choice = read_port(Variables(device));
    if (!choice) return choice.error();
    const PortSpec& port = choice.value().port;
    const bool is_twice = std::ranges::any_of(ports, [&port](const PortSpec& other) {
      return other.kind == port.kind && other.target == port.target;
    });
    if (is_twice && is_for_one_nic(port)) return no_such_devices(count, port);
    ports.push_back(port);
  }
  return success();
}

}  // namespace

FaultList NicEnvironment::all_faults() const {
  FaultList all = faults;
  all.events.insert(all.events.end(), drawn_faults.events.begin(), drawn_faults.events.end());
  if (drawn_faults.frames.empty()) return all;
  // One seed is enough, the user's if there is one.
  const std::string& drawn = drawn_faults.frames;
  const bool has_seed = all.frames.find("seed=") != std::string::npos;
  all.frames = all.frames.empty()
                   ? drawn
                   : fmt::format("{},{}", all.frames,
                                 has_seed ? std::string_view(drawn).substr(0, drawn.find(",seed="))
                                          : std::string_view(drawn));
  return all;
}

Result<std::vector<NicEnvironment>, Error> read_environments() {
  const Variables plain(0);
  const auto count = count_devices(plain);
  if (!count) return count.error();
  if (const auto checked = check_ports(count.value()); !checked) return checked.error();
  std::vector<NicEnvironment> environments;
  for (unsigned device = 0; device < count.value(); ++device) {
    auto environment = read_device(Variables(device));
    if (!environment) return environment.error();
    environment.value().device.number = device;
    environment.value().device.devices = count.value();
    environments.push_back(std::move(environment).value());
  }
  return environments;
}

}  // namespace urnic::verbs_api
