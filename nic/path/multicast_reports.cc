// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/multicast_reports.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "transport/wire/igmp.h"
#include "transport/wire/mld.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;
using transport::Duration;
using transport::kNever;
using transport::Time;
using transport::to_integer;

/// Different from the other streams that are drawn from a device's seed.
constexpr std::uint64_t kReportStream = 0x69676d70;

/// Not groups of every host, which no router asks for, nor groups that stay inside a host, which no router
/// may know.
bool is_reported(const Gid& group) {
  constexpr Ipv4Address kAllHosts{{224, 0, 0, 1}};
  constexpr Ipv6Address kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  constexpr unsigned kInterfaceLocal = 1;
  if (group.is_ipv4_mapped()) return group.ipv4() != kAllHosts;
  const unsigned scope = group.octets[1] & 0xfu;
  return scope > kInterfaceLocal && group != kAllNodes;
}

}  // namespace

MulticastReports::MulticastReports(const DeviceConfig& config, const GidTable& gids)
    : own_(config.link_source()),
      sources_{gids.address_at(GidTable::kIpv4).value_or(Gid::from_ipv4({})),
               gids.address_at(GidTable::kLinkLocal).value_or(Gid{})},
      random_(config.seed ^ kReportStream) {}

// --- Members ---

MulticastReports::Family MulticastReports::family_of(const Gid& group) {
  return group.is_ipv4_mapped() ? Family::kIpv4 : Family::kIpv6;
}

MulticastReports::Group* MulticastReports::find(const Gid& address) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return group.address == address; });
  return found != groups_.end() ? &*found : nullptr;
}

/// A port that carries IP packets joins groups itself, and its host reports them.
bool MulticastReports::is_reported_here(const Gid& address) const {
  return own_.medium == Medium::kEthernet && is_reported(address);
}

bool MulticastReports::has_room_for(const Gid& address) const {
  if (!is_reported_here(address) || groups_.size() < DeviceLimits::kMaxGroupMembers) return true;
  // A group that was left makes room.
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return group.members == 0 || group.address == address; });
}

void MulticastReports::join(const Gid& address, Time now) {
  if (!is_reported_here(address)) return;
  Group* group = find(address);
  if (group == nullptr) {
    assert(has_room_for(address));
    if (groups_.size() == DeviceLimits::kMaxGroupMembers) {
      groups_.erase(
          std::find_if(groups_.begin(), groups_.end(), [](const Group& left) { return left.members == 0; }));
    }
    group = &groups_.emplace_back(Group{.address = address});
  }
  if (group->members++ == 0) change(*group, now);
}

void MulticastReports::leave(const Gid& address, Time now) {
  if (!is_reported_here(address)) return;
  Group* const group = find(address);
  assert(group != nullptr && group->members > 0);
  if (--group->members == 0) change(*group, now);
}

/// The first report of a change leaves at once.
void MulticastReports::change(Group& group, Time now) {
  group.changes_due = kRobustness;
  group.change_at = now;
  group.answer_at = kNever;
  next_due_ = std::min(next_due_, now);
}

// --- Queries ---

bool MulticastReports::on_frame(std::span<const std::byte> frame, Time now) {
  const auto parsed = Ethernet::parse(frame);
  if (!parsed || !is_on_vlan(parsed.value(), own_.vlan)) return false;
  const Ethernet& ethernet = parsed.value();
  const bool is_ipv4 = ethernet.ether_type == EtherType::kIpv4;
  if (!is_ipv4 && ethernet.ether_type != EtherType::kIpv6) return false;
  const auto packet = frame.subspan(ethernet.header_bytes());
  const std::optional<MembershipQuery> query = is_ipv4 ? parse_igmp_query(packet) : parse_mld_query(packet);
  if (!query) return false;
  const bool for_us = ethernet.destination == own_.mac || ethernet.destination.is_multicast();
  if (for_us && ethernet.source != own_.mac) on_query(*query, is_ipv4 ? Family::kIpv4 : Family::kIpv6, now);
  return true;
}

void MulticastReports::on_query(const MembershipQuery& query, Family family, Time now) {
  counters_[to_integer(MulticastCounter::kQueriesReceived)].add(1);
  if (query.version != Version::k3) {
    old_querier_until_[to_integer(family)][query.version == Version::k1 ? 0 : 1] = now + kQuerierTimeout;
  }
  // Version 3 has room for many groups in one report, so that they have one time; before, each has its own.
  const Duration longest = std::chrono::milliseconds(query.max_response_ms);
  const bool is_shared = version_of(family, now) == Version::k3;
  Duration delay = draw(longest);
  for (Group& group : groups_) {
    const bool is_meant = group.members > 0 && family_of(group.address) == family &&
                          (query.group.is_unspecified() || query.group == group.address);
    if (!is_meant) continue;
    group.answer_at = std::min(group.answer_at, std::max(now + delay, group.reported_at + kMinPause));
    next_due_ = std::min(next_due_, group.answer_at);
    if (!is_shared) delay = draw(longest);
  }
}

MulticastReports::Version MulticastReports::version_of(Family family, Time now) const {
  const auto& until = old_querier_until_[to_integer(family)];
  if (now < until[0]) return Version::k1;
  return now < until[1] ? Version::k2 : Version::k3;
}

Duration MulticastReports::draw(Duration longest) {
  const auto choices = static_cast<std::uint64_t>(longest.count()) + 1;
  return Duration(static_cast<Duration::rep>(random_() % choices));
}

// --- Reports ---

std::size_t MulticastReports::poll_transmit(std::span<std::byte> frame, Time now) {
  assert(frame.size() >= kMaxFrameBytes);
  if (now < next_due_) return 0;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    if (const std::size_t size = write_due(family, frame, now)) {
      counters_[to_integer(MulticastCounter::kReportsSent)].add(1);
      return size;
    }
  }
  std::erase_if(groups_, [](const Group& group) { return group.members == 0 && group.changes_due == 0; });
  next_due_ = kNever;
  for (const Group& group : groups_) next_due_ = std::min(next_due_, group.next_at());
  return 0;
}

/// One report of groups of the family that are due; 0 when there is none.
std::size_t MulticastReports::write_due(Family family, std::span<std::byte> frame, Time now) {
  const Version version = version_of(family, now);
  const std::size_t most = version == Version::k3 ? MembershipReport::kMaxRecords : 1;
  std::array<GroupRecord, MembershipReport::kMaxRecords> records;
  std::size_t count = 0;
  for (Group& group : groups_) {
    if (group.next_at() > now || family_of(group.address) != family) continue;
    const GroupRecord record = take_due(group, now);
    if (record.state == MembershipState::kLeft && version == Version::k1) continue;  // it has no such report
    records[count++] = record;
    if (count == most) break;
  }
  if (count == 0) return 0;
  return write(family,
               {.version = version,
                .source = sources_[to_integer(family)],
                .records = std::span(records).first(count)},
               frame);
}

/// What is to be said of the group now. To report a change is an answer, too.
GroupRecord MulticastReports::take_due(Group& group, Time now) {
  GroupRecord record{.state = MembershipState::kMember, .group = group.address};
  group.reported_at = now;
  group.answer_at = kNever;
  if (group.change_at > now) return record;
  record.state = group.members > 0 ? MembershipState::kJoined : MembershipState::kLeft;
  group.change_at = --group.changes_due > 0 ? now + draw(kRepeatInterval) : kNever;
  return record;
}

std::size_t MulticastReports::write(Family family, const MembershipReport& report,
                                    std::span<std::byte> frame) const {
  Ethernet ethernet = header_from(own_);
  const bool is_ipv4 = family == Family::kIpv4;
  ethernet.destination =
      is_ipv4 ? multicast_mac(igmp_destination(report)) : multicast_mac(mld_destination(report));
  ethernet.ether_type = is_ipv4 ? EtherType::kIpv4 : EtherType::kIpv6;
  const std::size_t header = emit(ethernet, frame);
  const auto packet = frame.subspan(header);
  return header + (is_ipv4 ? emit_igmp(report, packet) : emit_mld(report, packet));
}

}  // namespace urnic::nic
