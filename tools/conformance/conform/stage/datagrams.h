// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Datagrams: what a script calls the two ends of a datagram, and what they are on the wire. A script has
// several destinations with numbers of its choice; the tester is all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/conformance/script/packet_text.h"

namespace urnic::conform {

class Datagrams {
 public:
  /// `own_qp` is the tester's; the peer's queue pair is `peers_qp`, which the script calls `scripts_qp`.
  Datagrams(std::uint32_t own_qp, std::uint32_t peers_qp, std::uint32_t scripts_qp)
      : own_qp_(own_qp), peers_qp_(peers_qp), scripts_qp_(scripts_qp) {}

  /// The tester's number that stands for this destination; nothing: the script has too many.
  std::optional<std::uint32_t> destination(std::uint32_t script_qp);
  /// A packet from the peer, with the script's numbers.
  scripts::PacketFields as_script_has_it(scripts::PacketFields packet) const;

 private:
  std::uint32_t own_qp_;
  std::uint32_t peers_qp_;
  std::uint32_t scripts_qp_;
  std::vector<std::uint32_t> destinations_;  ///< the script's
};

}  // namespace urnic::conform
