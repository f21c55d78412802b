// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/network_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "transport/wire/ethernet.h"

namespace urnic::drivers {
namespace {

/// So that two links with the same words do not suffer alike.
constexpr std::uint64_t kLinkSalt = 0x9e3779b97f4a7c15u;

/// Moves a flipped bit that could hurt the Ethernet header to a place after it.
void spare_header(FrameFate& fate, std::size_t frame_bytes) {
  constexpr std::size_t kHeaderBits = 8 * transport::wire::Ethernet::kMinBytes;
  if (!fate.flipped_bit) return;
  const std::size_t bits = 8 * fate.length.value_or(frame_bytes);
  if (bits <= kHeaderBits) return fate.flipped_bit.reset();
  fate.flipped_bit = kHeaderBits + *fate.flipped_bit % (bits - kHeaderBits);
}

}  // namespace

std::string name_of(const network::Topology& topology, const network::Link& link) {
  return fmt::format("{}/{}", topology.name_of(link.ends[0]), topology.name_of(link.ends[1]));
}

Result<std::unique_ptr<NetworkFaults>, Error> NetworkFaults::create(const network::Topology& topology) {
  auto faults = std::make_unique<NetworkFaults>();
  faults->lines_.resize(topology.links.size());
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const network::Link& link = topology.links[i];
    if (link.faults.empty()) continue;
    auto spec = FaultSpec::parse(link.faults);
    const std::string name = name_of(topology, link);
    if (!spec) {
      return Error{.code = EINVAL,
                   .message = fmt::format("faults of the link {}: {}", name, spec.error().message)};
    }
    spec.value().seed += i * kLinkSalt;
    faults->lines_[i] = std::make_unique<Line>(
        Line{.name = name, .faults = LineFaults(spec.value(), nic::Medium::kEthernet)});
  }
  const auto is_there = [](const std::unique_ptr<Line>& line) { return line != nullptr; };
  if (std::none_of(faults->lines_.begin(), faults->lines_.end(), is_there)) faults.reset();
  return faults;
}

network::LinkFate NetworkFaults::judge(network::LinkId link, std::size_t end,
                                       std::span<const std::byte> frame) {
  Line& on = line(link);
  const Way way = end == 0 ? Way::kSent : Way::kReceived;
  FrameFate& fate = on.fate;
  fate = on.faults.judge(way, frame);
  spare_header(fate, frame.size());
  return {.is_lost = fate.is_lost,
          .is_duplicated = fate.is_duplicated,
          .is_changed = fate.changes_bytes() || fate.length,
          .behind = fate.behind,
          .delay = fate.delay};
}

std::size_t NetworkFaults::change(network::LinkId link, std::span<std::byte> frame) {
  Line& on = line(link);
  const std::span<std::byte> left = frame.first(on.fate.length.value_or(frame.size()));
  on.faults.change(on.fate, left);
  return left.size();
}

std::vector<std::string> NetworkFaults::report() const {
  std::vector<std::string> lines;
  for (const auto& line : lines_) {
    if (line == nullptr) continue;
    for (const std::string& text : line->faults.report()) {
      lines.push_back(fmt::format("link {}: {}", line->name, text));
    }
  }
  return lines;
}

}  // namespace urnic::drivers
