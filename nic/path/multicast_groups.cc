#include "nic/path/multicast_groups.h"

#include "nic/config.h"
#include "nic/path/multicast_reports.h"

namespace urnic::nic {

using transport::Time;
using transport::wire::Gid;

bool MulticastGroups::has_room_for(const Gid& group) const {
  return members_.size() < DeviceLimits::kMaxGroupMembers && reports_.has_room_for(group);
}

void MulticastGroups::attach(const Gid& group, QueuePair& qp, Time now) {
  const Member member{.group = group, .qp = &qp};
  if (std::find(members_.begin(), members_.end(), member) != members_.end()) return;
  members_.push_back(member);
  reports_.join(group, now);
}

bool MulticastGroups::detach(const Gid& group, QueuePair& qp, Time now) {
  if (std::erase(members_, Member{.group = group, .qp = &qp}) == 0) return false;
  reports_.leave(group, now);
  return true;
}

void MulticastGroups::detach_from_all(QueuePair& qp, Time now) {
  std::erase_if(members_, [&](const Member& member) {
    if (member.qp != &qp) return false;
    reports_.leave(member.group, now);
    return true;
  });
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
