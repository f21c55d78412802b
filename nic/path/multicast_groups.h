// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MulticastGroups: which queue pairs receive what is sent to a group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "transport/result.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::nic {

class MulticastReports;
class PacketPort;
class QueuePair;

/// All calls under the engine lock.
class MulticastGroups {
 public:
  /// Tells `reports`, which must outlive it, about each member.
  explicit MulticastGroups(MulticastReports& reports) : reports_(reports) {}
  /// From now on tells this port about the first member of each group, and about the end of its last one.
  void tell(PacketPort& port) { port_ = &port; }

  /// Whether there may be one more member, of this group.
  bool has_room_for(const transport::wire::Gid& group) const;
  /// Nothing happens when the queue pair is a member already. There is room. The error is the port's.
  Result<void, Error> attach(const transport::wire::Gid& group, QueuePair& qp, transport::Time now);
  /// False when it is not.
  bool detach(const transport::wire::Gid& group, QueuePair& qp, transport::Time now);
  /// The queue pair is about to be destroyed.
  void detach_from_all(QueuePair& qp, transport::Time now);
  /// Whether `qp` is a member of any group.
  bool has(const QueuePair& qp) const;

  bool contains(const transport::wire::Gid& group) const;

  /// Calls visit(QueuePair&) for each member, in the order in which they were attached.
  template <typename Visit>
  void for_each(const transport::wire::Gid& group, Visit visit) const {
    for (const Member& member : members_) {
      if (member.group == group) visit(*member.qp);
    }
  }

 private:
  struct Member {
    transport::wire::Gid group;
    QueuePair* qp;
    friend bool operator==(const Member&, const Member&) = default;
  };

  Result<void, Error> join(const transport::wire::Gid& group, transport::Time now);
  void leave(const transport::wire::Gid& group, transport::Time now);

  MulticastReports& reports_;
  PacketPort* port_ = nullptr;
  std::vector<Member> members_;
};

/// 224.0.0.0/4 as a mapped GID, or ff00::/8.
bool is_multicast(const transport::wire::Gid& gid);
/// The MAC that frames to this group carry (fact 11).
transport::wire::Mac multicast_mac_of(const transport::wire::Gid& group);

}  // namespace urnic::nic
