// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Id: what is known of one id of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "nic/cm/types.h"
#include "nic/rdma_cm/event_channel.h"
#include "nic/rdma_cm/types.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::nic::rdma_cm {

/// The names are from the kernel's enum rdma_cm_state.
enum class IdState : std::uint8_t {
  kIdle,
  kBinding,  ///< no state of the kernel's: the host is asked about a port
  kAddressBound,
  kAddressQuery,
  kAddressResolved,
  kRouteResolved,
  kListen,
  kConnect,
  kDisconnect,
};

/// As people call it; "" for what is no state.
constexpr std::string_view name_of(IdState state) {
  using enum IdState;
  switch (state) {
    case kIdle:
      return "IDLE";
    case kBinding:
      return "BINDING";
    case kAddressBound:
      return "ADDR_BOUND";
    case kAddressQuery:
      return "ADDR_QUERY";
    case kAddressResolved:
      return "ADDR_RESOLVED";
    case kRouteResolved:
      return "ROUTE_RESOLVED";
    case kListen:
      return "LISTEN";
    case kConnect:
      return "CONNECT";
    case kDisconnect:
      return "DISCONNECT";
  }
  return "";
}

struct Id {
  IdNumber number{};
  EventChannel* channel = nullptr;
  std::uint64_t uid = 0;
  PortSpace space = PortSpace::kTcp;
  Service service = Service::kRc;
  IdState state = IdState::kIdle;
  std::uint32_t fetched_events = 0;

  SocketAddress local;
  SocketAddress peer;
  bool has_port = false;                      ///< in the port table
  bool is_port_lent = false;                  ///< see SharedHost
  std::optional<std::uint16_t> granted_port;  ///< by the host, and not in the port table yet
  bool may_listen = false;                    ///< the host says so
  bool is_on_device = false;                  ///< `local` is an address of the NIC
  std::optional<PathRecord> path;
  transport::Time resolution_deadline{};
  std::set<IdNumber> memberships;  ///< of multicast groups

  bool may_share_port = false;
  bool is_family_only = false;
  std::uint8_t type_of_service = 0;
  std::optional<std::uint8_t> ack_timeout;  ///< 4.096 us x 2^t, as the program wants it

  std::uint32_t backlog = 0;  ///< of a listener: requests that may still come before the program fetches one

  // --- The connection ---

  bool is_passive = false;
  bool is_known = false;  ///< what the queue pair needs is known: REP or REQ has come
  std::optional<cm::CommunicationId> cm;
  bool is_doubted = false;  ///< the host of the peer has refused `cm`'s request
  transport::QpNumber peer_qp{};
  transport::Psn own_psn{};   ///< the peer's requests begin with it
  transport::Psn peer_psn{};  ///< ours do
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t agreed_ack_timeout = 0;
};

}  // namespace urnic::nic::rdma_cm
