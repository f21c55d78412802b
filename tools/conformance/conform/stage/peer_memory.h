// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PeerMemory: what the regions of a script are on the peer. A script has addresses and keys of its own; the
// peer's NIC and operating system choose others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/player/settings.h"
#include "tools/conformance/script/packet_text.h"
#include "transport/work_request.h"

namespace urnic::conform {

class PeerMemory {
 public:
  struct Region {
    scripts::Settings::Region script;
    unsigned number = 0;  ///< of the agent's
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
  };

  void add(const Region& region) { regions_.push_back(region); }
  /// Null if there is none.
  const Region* named(const std::string& name) const;
  const Region* of_key(std::uint32_t script_key) const;

  /// The packet with what the peer calls its addresses and keys. A key of no region stays the key of none.
  scripts::PacketFields as_peer_has_it(const scripts::PacketFields& packet) const;
  std::uint32_t peers_key(std::uint32_t script_key) const;
  /// The script's key of a region, from the peer's.
  std::uint32_t scripts_key(std::uint32_t peers_key) const;
  /// "sge=REGION:OFFSET:LENGTH" of each element, each after a space; nothing if one cannot be said.
  std::optional<std::string> elements_text(std::span<const transport::Sge> elements) const;

 private:
  std::uint64_t peers_address(std::uint64_t address, std::uint32_t script_key) const;

  std::vector<Region> regions_;
};

}  // namespace urnic::conform
