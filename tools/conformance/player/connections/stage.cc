// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/connections/stage.h"

#include <fmt/core.h>

#include <chrono>

namespace urnic::scripts::connections {
namespace {

constexpr std::size_t kMostLines = 400;

}  // namespace

std::array<std::byte, Mad::kAddressBytes> Stage::header_address_of(Host host) const {
  std::array<std::byte, Mad::kAddressBytes> address{};
  const transport::wire::Gid gid = gid_of(host);
  const std::size_t from = is_ipv6() ? 0 : 12;
  for (std::size_t i = from; i < address.size(); ++i) address[i] = std::byte{gid.octets[i]};
  return address;
}

void Stage::add_to_ladder(transport::Duration since_start, std::string_view text) {
  if (ladder_.size() == kMostLines) ladder_.pop_front();
  const double seconds = std::chrono::duration<double>(since_start).count();
  ladder_.push_back(fmt::format("{:>12.6f} s  {}", seconds, text));
}

std::string describe(const Event& event) {
  return fmt::format("event {} status={}", event.name, event.status);
}

}  // namespace urnic::scripts::connections
