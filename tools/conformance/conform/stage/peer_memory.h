// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PeerMemory: what the regions and windows of a script are on the peer. A script has addresses and keys of
// its own; the peer's NIC and operating system choose others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/player/settings.h"
#include "tools/conformance/script/packet_text.h"
#include "transport/dma.h"
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
  struct Window {
    std::string name;
    unsigned number = 0;        ///< of the agent's
    std::uint32_t key = 0;      ///< the script's, once what was posted is done
    std::uint64_t address = 0;  ///< the script's, where it begins for the peer
  };

  void add(const Region& region) { regions_.push_back(region); }
  void add(const Window& window, std::uint32_t rkey);
  /// Null if there is none.
  const Region* named(const std::string& name) const;
  const Region* of_key(std::uint32_t script_key) const;
  const Window* window_named(const std::string& name) const;
  const Window* window_of_key(std::uint32_t script_key) const;

  /// The region has this key from now on.
  void change_key(const std::string& region, std::uint32_t rkey);
  /// The window is bound as the script says, and the peer's NIC calls its new key `rkey`. Its old keys keep
  /// their meaning, for packets that come too late.
  void bind(const transport::WindowBinding& binding, std::uint32_t rkey);

  /// The packet with what the peer calls its addresses and keys. A key of no region stays the key of none.
  scripts::PacketFields as_peer_has_it(const scripts::PacketFields& packet) const;
  std::uint32_t peers_key(std::uint32_t script_key) const;
  /// The script's key of a region, from the peer's.
  std::uint32_t scripts_key(std::uint32_t peers_key) const;
  /// "sge=REGION:OFFSET:LENGTH" of each element, each after a space; nothing if one cannot be said.
  std::optional<std::string> elements_text(std::span<const transport::Sge> elements) const;

 private:
  struct WindowKey {
    std::uint32_t script = 0;
    std::uint32_t peers = 0;
    std::uint32_t region = 0;  ///< the script's key of the region that it opens; 0: none
    bool is_zero_based = false;
  };
  /// The last one of a window that the script has called so; null if there is none.
  const WindowKey* window_key(std::uint32_t script_key) const;
  std::uint64_t peers_address(std::uint64_t address, std::uint32_t script_key) const;

  std::vector<Region> regions_;
  std::vector<Window> windows_;
  std::vector<WindowKey> window_keys_;  ///< of all windows, in the order in which they got them
};

}  // namespace urnic::conform
