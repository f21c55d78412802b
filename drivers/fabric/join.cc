// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/join.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include "drivers/fabric/control.h"
#include "drivers/fabric/start_switch.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"

namespace urnic::drivers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kJoinPatience = std::chrono::seconds(10);
constexpr auto kJoinPause = std::chrono::milliseconds(10);

/// One of the switches of a fabric, which is started when it is not there.
struct WantedSwitch {
  const std::string& fabric;
  unsigned number;
  const std::string& program;
};

Result<std::string, Error> ask(const nic::FabricFolder& folder, const WantedSwitch& wanted,
                               std::string_view request, int descriptor = -1) {
  const nic::SwitchFiles files = folder.files_of_switch(wanted.number);
  const auto give_up = Clock::now() + kJoinPatience;
  auto answer = ask_switch(files, request, descriptor);
  // A switch may be about to end, or another program may start one at this moment.
  while (!answer && answer.error().code == ENOENT) {
    const auto started =
        start_switch(wanted.program, {"--name", wanted.fabric, "--number", std::to_string(wanted.number)});
    if (!started) return started.error();
    answer = ask_switch(files, request, descriptor);
    if (answer || answer.error().code != ENOENT || Clock::now() > give_up) break;
    std::this_thread::sleep_for(kJoinPause);
  }
  if (!answer) {
    return Error{.code = answer.error().code,
                 .message = fmt::format("fabric {}: {}", wanted.fabric, answer.error().message)};
  }
  return answer;
}

}  // namespace

Result<FabricPort, Error> join_fabric(const nic::PortSpec& spec, std::uint16_t link_mtu,
                                      const std::string& switch_program, int last_words) {
  const auto folder = nic::FabricFolder::open(spec.target);
  if (!folder) return folder.error();
  const WantedSwitch wanted{
      .fabric = spec.target, .number = nic::switch_of_slot(spec.slot), .program = switch_program};
  const auto answer = ask(folder.value(), wanted, fmt::format("port {} {}", spec.slot, link_mtu), last_words);
  if (!answer) return answer.error();
  return FabricPort{.socket = folder.value().port_socket(spec.slot),
                    .is_switched = answer.value() == kSwitchedPort};
}

Result<Trunk, Error> join_first_switch(const std::string& fabric, unsigned number,
                                       const std::string& switch_program) {
  const auto folder = nic::FabricFolder::open(fabric);
  if (!folder) return folder.error();
  const WantedSwitch first{.fabric = fabric, .number = 0, .program = switch_program};
  const auto answer = ask(folder.value(), first, fmt::format("trunk {}", number));
  if (!answer) return answer.error();
  Trunk trunk{.socket = folder.value().trunk_socket(number)};
  const std::string& mtu = answer.value();
  if (std::from_chars(mtu.data(), mtu.data() + mtu.size(), trunk.link_mtu).ec != std::errc()) {
    return Error{.code = EPROTO,
                 .message = fmt::format("the first switch of fabric {} is of another version", fabric)};
  }
  return trunk;
}

}  // namespace urnic::drivers
