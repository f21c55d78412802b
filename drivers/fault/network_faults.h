// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NetworkFaults: the faults of a topology's links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/fault/line_faults.h"
#include "drivers/network/link_faults.h"
#include "drivers/network/topology.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Each link that has faults (Link::faults) is a line: what goes from the first of its ends to the second is
/// "sent" (direction=tx), the rest "received". Dice spare the Ethernet header, whose damage no switch would
/// pass on. What is delayed or held back has no limit but the network's own.
class NetworkFaults final : public network::LinkFaults {
 public:
  /// The error (EINVAL) says which link and what is wrong. Null when no link has faults.
  static Result<std::unique_ptr<NetworkFaults>, Error> create(const network::Topology& topology);

  bool is_about(network::LinkId link) const override { return lines_[index(link)] != nullptr; }
  network::LinkFate judge(network::LinkId link, std::size_t end, std::span<const std::byte> frame) override;
  std::size_t change(network::LinkId link, std::span<std::byte> frame) override;

  /// For people: the name of each link and its LineFaults::report(): "link left/right: fault ...".
  std::vector<std::string> report() const;

 private:
  struct Line {
    std::string name;
    LineFaults faults;
    FrameFate fate{};  // of the last frame
  };

  static std::size_t index(network::LinkId link) { return static_cast<std::size_t>(link); }
  Line& line(network::LinkId link) { return *lines_[index(link)]; }

  std::vector<std::unique_ptr<Line>> lines_;  // by link; null: no faults
};

/// "left/right": the ends of a link, as `--fault left/right=SPEC` names it.
std::string name_of(const network::Topology& topology, const network::Link& link);

}  // namespace urnic::drivers
