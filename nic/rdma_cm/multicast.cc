// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Multicast groups: RoCE has no subnet manager to ask, so joining one succeeds at once. Switches that snoop
// notice it by IGMP or MLD.
#include "nic/errors.h"
#include "nic/path/multicast_groups.h"
#include "nic/rdma_cm/datagram_service.h"
#include "nic/rdma_cm/rdma_cm.h"

namespace urnic::nic::rdma_cm {

using transport::Time;

Result<IdNumber, Error> RdmaCm::join(EventChannel& channel, IdNumber number, Uid uid,
                                     const SocketAddress& group, bool is_send_only, Time now) {
  const auto found = find(channel, number);
  if (!found) return failure(found.error());
  Id& id = *found.value();
  if (!id.is_on_device) return failure(invalid("the id is not bound to an address of the NIC"));
  if (!is_multicast(group.address)) return failure(invalid("this is no multicast address"));
  if (group.is_ipv4() != id.local.is_ipv4()) {
    return failure(invalid("the group's address is of another family"));
  }
  const auto free = free_number();
  if (!free) return failure(out_of("there are too many ids and memberships"));
  if (!is_send_only) {
    if (!reports_.has_room_for(group.address)) return failure(out_of("there are too many multicast groups"));
    reports_.join(group.address, now);
  }
  id.memberships.insert(*free);
  memberships_[*free] = {.number = *free, .id = number, .group = group, .is_send_only = is_send_only};

  constexpr transport::QpNumber kEveryMember{transport::kMaxQpNumber};
  constexpr std::uint8_t kHopLimit = 64;
  Event event{.type = EventType::kMulticastJoin, .uid = uid, .id = *free};
  event.parameters =
      DatagramParameters{.address = {.destination = group.address,
                                     .source_gid_index = gids_.index_of(id.local.address).value_or(0),
                                     .hop_limit = kHopLimit,
                                     .traffic_class = id.type_of_service,
                                     .flow_label = 0},
                         .qp = kEveryMember,
                         .qkey = kDatagramQkey};
  channel.push({.event = event, .owner = *free});
  return *free;
}

Result<std::uint32_t, Error> RdmaCm::leave(EventChannel& channel, IdNumber number, Time now) {
  const auto found = memberships_.find(number);
  if (found == memberships_.end()) {
    return failure(Error{.code = ENOENT, .message = "there is no such membership"});
  }
  if (ids_.at(found->second.id).channel != &channel) {
    return failure(invalid("the membership is another channel's"));
  }
  const std::uint32_t fetched = found->second.fetched_events;
  end(found->second, channel, now);
  return fetched;
}

void RdmaCm::end(const Membership& membership, EventChannel& channel, Time now) {
  const IdNumber number = membership.number;
  if (!membership.is_send_only) reports_.leave(membership.group.address, now);
  static_cast<void>(channel.take(number));
  ids_.at(membership.id).memberships.erase(number);
  memberships_.erase(number);
}

}  // namespace urnic::nic::rdma_cm
