// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/command_faults.h"

#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include "nic/rdma_cm/types.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api::ucm {
namespace {

/// Of InfiniBand's own addresses.
constexpr unsigned kFamilyIb = 27;

/// Which call of librdmacm writes it. Nothing for what no call is named by, and for the id and the address by
/// which librdmacm itself asks, before the program's first call, whether there are InfiniBand's addresses.
std::optional<Verb> verb_of(std::uint32_t number, const Command& command) {
  switch (number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      if (command.as<rdma_ucm_create_id>().ps == RDMA_PS_IB) return std::nullopt;
      return Verb::kCmCreateId;
    case RDMA_USER_CM_CMD_BIND:
      if (command.as<rdma_ucm_bind>().addr.ss_family == kFamilyIb) return std::nullopt;
      return Verb::kCmBindAddr;
    case RDMA_USER_CM_CMD_BIND_IP:
      return Verb::kCmBindAddr;
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return Verb::kCmDestroyId;
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return Verb::kCmMigrateId;
    case RDMA_USER_CM_CMD_SET_OPTION:
      return Verb::kCmSetOption;
    case RDMA_USER_CM_CMD_RESOLVE_IP:
    case RDMA_USER_CM_CMD_RESOLVE_ADDR:
      return Verb::kCmResolveAddr;
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return Verb::kCmResolveRoute;
    case RDMA_USER_CM_CMD_LISTEN:
      return Verb::kCmListen;
    case RDMA_USER_CM_CMD_CONNECT:
      return Verb::kCmConnect;
    case RDMA_USER_CM_CMD_ACCEPT:
      return command.as<rdma_ucm_accept>().conn_param.valid == 0 ? Verb::kCmEstablish : Verb::kCmAccept;
    case RDMA_USER_CM_CMD_REJECT:
      return Verb::kCmReject;
    case RDMA_USER_CM_CMD_DISCONNECT:
      return Verb::kCmDisconnect;
    case RDMA_USER_CM_CMD_NOTIFY:
      return Verb::kCmNotify;
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return Verb::kCmJoinMulticast;
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return Verb::kCmLeaveMulticast;
    case RDMA_USER_CM_CMD_GET_EVENT:
      return Verb::kCmGetEvent;
    default:
      return std::nullopt;
  }
}

/// The id of a command that an event can follow.
std::uint32_t id_in(std::uint32_t number, const Command& command) {
  switch (number) {
    case RDMA_USER_CM_CMD_RESOLVE_IP:
      return command.as<rdma_ucm_resolve_ip>().id;
    case RDMA_USER_CM_CMD_RESOLVE_ADDR:
      return command.as<rdma_ucm_resolve_addr>().id;
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return command.as<rdma_ucm_resolve_route>().id;
    case RDMA_USER_CM_CMD_CONNECT:
      return command.as<rdma_ucm_connect>().id;
    default:
      return command.as<rdma_ucm_accept>().id;
  }
}

}  // namespace

std::optional<int> injected_result(std::uint32_t number, const Command& command) {
  if (!call_faults().has_any()) return std::nullopt;
  const auto verb = verb_of(number, command);
  if (!verb) return std::nullopt;
  const CallFault* const fault = call_faults().strike(*verb);
  if (fault == nullptr) return std::nullopt;
  if (fault->event == nullptr) return fault->error;
  const nic::rdma_cm::IdNumber id{id_in(number, command)};
  return errno_of(
      with_rdma_cm(*parts_with(command, id).front(), [&](nic::rdma_cm::RdmaCm& cm, ChannelPart& part) {
        return cm.tell_failure(part.events(), id, fault->event->type, fault->event_status);
      }));
}

}  // namespace urnic::verbs_api::ucm
