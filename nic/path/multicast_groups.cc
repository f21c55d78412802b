// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/multicast_groups.h"

#include "nic/config.h"
#include "nic/path/multicast_reports.h"
#include "nic/port/packet_port.h"

namespace urnic::nic {

using transport::Time;
using transport::wire::Gid;

bool MulticastGroups::has_room_for(const Gid& group) const {
  return members_.size() < DeviceLimits::kMaxGroupMembers && reports_.has_room_for(group);
}

Result<void, Error> MulticastGroups::attach(const Gid& group, QueuePair& qp, Time now) {
  const Member member{.group = group, .qp = &qp};
  if (std::find(members_.begin(), members_.end(), member) != members_.end()) return success();
  if (auto joined = join(group, now); !joined) return joined;
  members_.push_back(member);
  return success();
}

bool MulticastGroups::detach(const Gid& group, QueuePair& qp, Time now) {
  if (std::erase(members_, Member{.group = group, .qp = &qp}) == 0) return false;
  leave(group, now);
  return true;
}

void MulticastGroups::detach_from_all(QueuePair& qp, Time now) {
  while (true) {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const Member& member) { return member.qp == &qp; });
    if (found == members_.end()) return;
    const Gid group = found->group;
    members_.erase(found);
    leave(group, now);
  }
}

/// Before the member is there.
Result<void, Error> MulticastGroups::join(const Gid& group, Time now) {
  if (port_ != nullptr && !contains(group)) {
    if (auto joined = port_->join(group); !joined) return joined;
  }
  reports_.join(group, now);
  return success();
}

/// After it has gone.
void MulticastGroups::leave(const Gid& group, Time now) {
  reports_.leave(group, now);
  if (port_ != nullptr && !contains(group)) port_->leave(group);
}

bool MulticastGroups::has(const QueuePair& qp) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.qp == &qp; });
}

bool MulticastGroups::contains(const Gid& group) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.group == group; });
}

bool is_multicast(const Gid& gid) {
  return gid.is_multicast() || (gid.is_ipv4_mapped() && gid.ipv4().is_multicast());
}

transport::wire::Mac multicast_mac_of(const Gid& group) {
  return group.is_ipv4_mapped() ? transport::wire::multicast_mac(group.ipv4())
                                : transport::wire::multicast_mac(group);
}

}  // namespace urnic::nic
