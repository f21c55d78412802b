#include "nic/path/multicast_groups.h"

namespace urnic::nic {

using transport::wire::Gid;

bool MulticastGroups::attach(const Gid& group, QueuePair& qp) {
  const Member member{.group = group, .qp = &qp};
  if (std::find(members_.begin(), members_.end(), member) != members_.end()) return false;
  members_.push_back(member);
  return true;
}

bool MulticastGroups::detach(const Gid& group, QueuePair& qp) {
  return std::erase(members_, Member{.group = group, .qp = &qp}) > 0;
}

void MulticastGroups::detach_from_all(QueuePair& qp) {
  std::erase_if(members_, [&](const Member& member) { return member.qp == &qp; });
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
