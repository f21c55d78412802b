// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Aliases: what the peer is told instead of the IDs and the GUID of a script, so that what is left of one
// case is no part of the next, and no queue pair of a script was connected before.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/conformance/script/connections/mad.h"

namespace urnic::conform::connections {

class Aliases {
 public:
  /// What scripts call the GUID of the side that is tested.
  static constexpr std::uint64_t kOwnGuid = 0xfffe000002;

  /// Other numbers for each case. `peers_guid`: nothing if it is not known.
  Aliases(unsigned number, std::optional<std::uint64_t> peers_guid)
      : id_mark_(number % kIdMarks + 1), guid_mark_(number % kGuidMarks + 1), peers_guid_(peers_guid) {}

  /// Of a message of the tester.
  scripts::connections::Mad as_peer_has_it(scripts::connections::Mad mad) const;
  /// Of a message of the peer; nothing if it is about a connection of another case.
  std::optional<scripts::connections::Mad> as_script_has_it(scripts::connections::Mad mad) const;

 private:
  /// IDs of scripts have fewer bits; a mark is above them.
  static constexpr unsigned kIdBits = 20;
  static constexpr unsigned kIdMarks = 0xfff;
  static constexpr unsigned kGuidShift = 48;
  static constexpr unsigned kGuidMarks = 0xffff;

  std::uint64_t alias_of(std::uint64_t id) const { return id == 0 ? 0 : id ^ id_mark_ << kIdBits; }
  std::uint64_t alias_of_guid(std::uint64_t guid) const { return guid ^ guid_mark_ << kGuidShift; }

  std::uint64_t id_mark_;
  std::uint64_t guid_mark_;
  std::optional<std::uint64_t> peers_guid_;
};

}  // namespace urnic::conform::connections
