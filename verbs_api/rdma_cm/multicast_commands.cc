// Multicast groups.
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstdint>

#include "verbs_api/rdma_cm/address_field.h"
#include "verbs_api/rdma_cm/command.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;

/// `Wish` is the struct of either command.
template <typename Wish>
int join(const Command& command, const Wish& wish, const Result<SocketAddress, int>& group,
         bool is_send_only) {
  if (!group) return group.error();
  if (const int failed = start_nic(command); failed != 0) return failed;
  const auto membership = with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.join(command.channel.events(), IdNumber{wish.id}, wish.uid, group.value(), is_send_only,
                   command.channel.nic().now());
  });
  if (!membership) return errno_of(membership);
  const rdma_ucm_create_id_resp response{.id = static_cast<std::uint32_t>(membership.value())};
  const int failed = respond(command, wish.response, response);
  if (failed == 0) return 0;
  // The program does not know its number.
  static_cast<void>(with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.leave(command.channel.events(), membership.value(), command.channel.nic().now());
  }));
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
  const auto fetched = with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.leave(command.channel.events(), IdNumber{wish.id}, command.channel.nic().now());
  });
  if (!fetched) return errno_of(fetched);
  return respond(command, wish.response, rdma_ucm_destroy_id_resp{.events_reported = fetched.value()});
}

}  // namespace urnic::verbs_api::ucm
