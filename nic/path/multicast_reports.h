// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MulticastReports: tells routers, and switches that snoop, which multicast groups the NIC is in, by IGMP and
// MLD.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/port/vlan.h"
#include "transport/counters.h"
#include "transport/enum_names.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/group_membership.h"

namespace urnic::nic {

enum class MulticastCounter : std::uint8_t {
  kReportsSent,      ///< frames, leaves included
  kQueriesReceived,  ///< well-formed ones
};

/// "" for what is no counter.
constexpr std::string_view name_of(MulticastCounter counter) {
  using enum MulticastCounter;
  switch (counter) {
    case kReportsSent:
      return "multicast_reports_sent";
    case kQueriesReceived:
      return "multicast_queries_received";
  }
  return "";
}

/// The host's side of IGMP and MLD, of any source. A group is reported when its first member joins and when
/// its last one leaves, both twice, and whenever a querier asks for it. The oldest version that a querier
/// spoke lately decides how. Other hosts' reports suppress none of ours: a switch that snoops has to hear
/// every member.
///
/// A sans-I/O state machine as the neighbor cache: inputs join(), leave(), on_frame(), then poll_transmit().
/// All calls under the engine lock, except counter(). What a stranger sends makes it send reports, but not
/// more than kMinPause allows.
class MulticastReports {
 public:
  MulticastReports(const DeviceConfig& config, const GidTable& gids);

  /// Whether join() may be called: not when it were one group more than DeviceLimits::kMaxGroupMembers.
  bool has_room_for(const transport::wire::Gid& group) const;
  /// One more member of the group.
  void join(const transport::wire::Gid& group, transport::Time now);
  /// One less; there is one.
  void leave(const transport::wire::Gid& group, transport::Time now);

  /// Takes queries; returns whether `frame` was one. Frames of another VLAN are none.
  bool on_frame(std::span<const std::byte> frame, transport::Time now);

  /// Writes the next report that is due to the front of `frame` (room for kMaxFrameBytes) and returns its
  /// size, or 0 when there is none: next_timeout() is later than `now` then.
  std::size_t poll_transmit(std::span<std::byte> frame, transport::Time now);
  static constexpr std::size_t kMaxFrameBytes = transport::wire::Ethernet::kMinBytes +
                                                transport::wire::VlanTag::kBytes +
                                                transport::wire::MembershipReport::kMaxBytes;
  /// When poll_transmit() has to be called next.
  transport::Time next_timeout() const { return next_due_; }

  /// How often each join and leave is reported.
  static constexpr std::uint8_t kRobustness = 2;
  /// A report is repeated within this time.
  static constexpr transport::Duration kRepeatInterval = std::chrono::seconds(1);
  /// From a report of a group to the answer to a query about it, at least: queries without end shall not make
  /// more of us.
  static constexpr transport::Duration kMinPause = std::chrono::milliseconds(100);
  /// A version is spoken for this long after its querier was last heard: twice the usual 125 s between
  /// queries, and 10 s for the answer.
  static constexpr transport::Duration kQuerierTimeout = std::chrono::seconds(260);

  /// Any thread.
  std::uint64_t counter(MulticastCounter which) const {
    return counters_[transport::to_integer(which)].value();
  }

 private:
  using Version = transport::wire::MembershipVersion;

  struct Group {
    transport::wire::Gid address{};
    std::uint32_t members = 0;     ///< 0: it was left, and that is still to be reported
    std::uint8_t changes_due = 0;  ///< how often the last join or leave is still to be reported
    transport::Time change_at = transport::kNever;
    transport::Time answer_at = transport::kNever;
    transport::Time reported_at{};

    transport::Time next_at() const { return std::min(change_at, answer_at); }
  };
  enum class Family : std::uint8_t { kIpv4, kIpv6 };

  static Family family_of(const transport::wire::Gid& group);
  Group* find(const transport::wire::Gid& group);
  bool is_reported_here(const transport::wire::Gid& address) const;
  void change(Group& group, transport::Time now);
  void on_query(const transport::wire::MembershipQuery& query, Family family, transport::Time now);
  Version version_of(Family family, transport::Time now) const;
  transport::Duration draw(transport::Duration longest);
  std::size_t write_due(Family family, std::span<std::byte> frame, transport::Time now);
  transport::wire::GroupRecord take_due(Group& group, transport::Time now);
  std::size_t write(Family family, const transport::wire::MembershipReport& report,
                    std::span<std::byte> frame) const;

  LinkSource own_;
  /// The sender of reports, of either family. Zero without an IPv4 address.
  std::array<transport::wire::Gid, 2> sources_;
  std::vector<Group> groups_;
  transport::Time next_due_ = transport::kNever;  // of all groups; may be too early, never too late
  /// Until when there is a querier of an old version: by family, versions 1 and 2.
  std::array<std::array<transport::Time, 2>, 2> old_querier_until_{};
  std::mt19937_64 random_;

  std::array<transport::CounterCell, transport::count_of<MulticastCounter>()> counters_;
};

}  // namespace urnic::nic
