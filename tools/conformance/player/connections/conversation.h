// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Conversation: what a peer that follows the messages knows, so that a script need not say it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tools/conformance/script/connections/mad.h"

namespace urnic::scripts::connections {

/// What numbers of a message must be, because the messages before it said so.
using KnownNumbers = std::map<std::string_view, std::set<std::uint64_t>>;

class Conversation {
 public:
  /// How the peer names a connection when the script does not say it.
  static constexpr std::uint64_t kPeerId = 0x900;

  /// Fills in what follows from the messages before it: IDs, the transaction, our queue pair.
  void fill_in(Mad& mad, std::optional<std::uint64_t> wanted_id);
  /// The message of this name that came last; null if none did.
  const Mad* last_arrived(std::string_view name) const;

  void learn_arrived(const Mad& mad);
  /// `own_guid`: nothing if it is not known.
  KnownNumbers learn_sent(const Mad& mad, std::optional<std::uint64_t> own_guid);

 private:
  struct Exchange {
    std::uint64_t own_id = 0;
    std::uint64_t own_qpn = 0;
    std::uint64_t tid = 0;  ///< of the REQ or SIDR_REQ
  };

  /// The exchange with the peer's connection of this ID; the one that we began last if the peer has named
  /// none of that ID.
  Exchange& exchange(std::uint64_t peer_id);

  std::map<std::string, Mad, std::less<>> arrived_;
  std::map<std::uint64_t, Exchange> exchanges_;                            // by the peer's ID
  Exchange begun_;                                                         // by us, and not answered yet
  std::uint64_t disconnect_tid_ = 0;                                       // of our last DREQ
  std::map<std::string, std::set<std::uint64_t>, std::less<>> peer_tids_;  // by message
  std::set<std::uint64_t> peer_ids_;
  std::uint64_t peer_id_ = kPeerId;  // of its last REQ or REP
  std::uint64_t next_peer_tid_ = 0x7000'0000'0000'0001;
};

}  // namespace urnic::scripts::connections
