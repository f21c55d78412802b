// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Multicast groups.
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstdint>

#include "transport/types.h"
#include "verbs_api/rdma_cm/address_field.h"
#include "verbs_api/rdma_cm/command.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;

/// A membership is on the device that gave it its number.
Result<std::uint32_t, Error> leave(const Command& command, IdNumber membership) {
  const auto& parts = command.channel.parts();
  ChannelPart& part = *parts[transport::to_integer(membership) % parts.size()];
  return with_rdma_cm(part, [&](RdmaCm& cm, ChannelPart& its) {
    return cm.leave(its.events(), membership, its.nic().now());
  });
}

/// `Wish` is the struct of either command.
template <typename Wish>
int join(const Command& command, const Wish& wish, const Result<SocketAddress, int>& group,
         bool is_send_only) {
  if (!group) return group.error();
  if (const int failed = start_nics(command, IdNumber{wish.id}); failed != 0) return failed;
  const auto membership = with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.join(part.events(), IdNumber{wish.id}, wish.uid, group.value(), is_send_only, part.nic().now());
  });
  if (!membership) return errno_of(membership);
  const rdma_ucm_create_id_resp response{.id = static_cast<std::uint32_t>(membership.value())};
  const int failed = respond(command, wish.response, response);
  if (failed == 0) return 0;
  // The program does not know its number.
  static_cast<void>(leave(command, membership.value()));
  return failed;
}

}  // namespace

int join_ip_mcast(const Command& command) {
  const auto wish = command.as<rdma_ucm_join_ip_mcast>();
  return join(command, wish, address_in(wish.addr), false);
}

int join_mcast(const Command& command) {
  const auto wish = command.as<rdma_ucm_join_mcast>();
  const auto group = address_in(wish.addr, wish.addr_size);
  if (wish.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  return join(command, wish, group, wish.join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
}

int leave_mcast(const Command& command) {
  const auto wish = command.as<rdma_ucm_destroy_id>();
  const auto fetched = leave(command, IdNumber{wish.id});
  if (!fetched) return errno_of(fetched);
  return respond(command, wish.response, rdma_ucm_destroy_id_resp{.events_reported = fetched.value()});
}

}  // namespace urnic::verbs_api::ucm
