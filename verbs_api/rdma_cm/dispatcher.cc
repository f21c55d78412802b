// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/dispatcher.h"

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <span>

#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/command_faults.h"
#include "verbs_api/rdma_cm/program_memory.h"

namespace urnic::verbs_api {
namespace {

struct Row {
  std::uint32_t number;
  int (*carry_out)(const ucm::Command& command);
  std::size_t least_bytes;  ///< of the command after the header
  std::size_t least_room;   ///< for the response
};

// Structs have grown at the end, and programs that are older than that say less, or have less room.
constexpr Row kRows[] = {
    {RDMA_USER_CM_CMD_CREATE_ID, ucm::create_id, sizeof(rdma_ucm_create_id), sizeof(rdma_ucm_create_id_resp)},
    {RDMA_USER_CM_CMD_DESTROY_ID, ucm::destroy_id, sizeof(rdma_ucm_destroy_id),
     sizeof(rdma_ucm_destroy_id_resp)},
    {RDMA_USER_CM_CMD_BIND_IP, ucm::bind_ip, sizeof(rdma_ucm_bind_ip), 0},
    {RDMA_USER_CM_CMD_RESOLVE_IP, ucm::resolve_ip, sizeof(rdma_ucm_resolve_ip), 0},
    {RDMA_USER_CM_CMD_RESOLVE_ROUTE, ucm::resolve_route, sizeof(rdma_ucm_resolve_route), 0},
    {RDMA_USER_CM_CMD_QUERY_ROUTE, ucm::query_route, sizeof(rdma_ucm_query),
     offsetof(rdma_ucm_query_route_resp, ibdev_index)},
    {RDMA_USER_CM_CMD_CONNECT, ucm::connect, offsetof(rdma_ucm_connect, ece), 0},
    {RDMA_USER_CM_CMD_LISTEN, ucm::listen, sizeof(rdma_ucm_listen), 0},
    {RDMA_USER_CM_CMD_ACCEPT, ucm::accept, offsetof(rdma_ucm_accept, ece), 0},
    {RDMA_USER_CM_CMD_REJECT, ucm::reject, sizeof(rdma_ucm_reject), 0},
    {RDMA_USER_CM_CMD_DISCONNECT, ucm::disconnect, sizeof(rdma_ucm_disconnect), 0},
    {RDMA_USER_CM_CMD_INIT_QP_ATTR, ucm::init_qp_attr, sizeof(rdma_ucm_init_qp_attr),
     sizeof(ib_uverbs_qp_attr)},
    {RDMA_USER_CM_CMD_GET_EVENT, ucm::get_event, sizeof(rdma_ucm_get_event),
     offsetof(rdma_ucm_event_resp, reserved)},
    {RDMA_USER_CM_CMD_GET_OPTION, nullptr, 0, 0},
    {RDMA_USER_CM_CMD_SET_OPTION, ucm::set_option, sizeof(rdma_ucm_set_option), 0},
    {RDMA_USER_CM_CMD_NOTIFY, ucm::notify, sizeof(rdma_ucm_notify), 0},
    {RDMA_USER_CM_CMD_JOIN_IP_MCAST, ucm::join_ip_mcast, sizeof(rdma_ucm_join_ip_mcast),
     sizeof(rdma_ucm_create_id_resp)},
    {RDMA_USER_CM_CMD_LEAVE_MCAST, ucm::leave_mcast, sizeof(rdma_ucm_destroy_id),
     sizeof(rdma_ucm_destroy_id_resp)},
    {RDMA_USER_CM_CMD_MIGRATE_ID, ucm::migrate_id, sizeof(rdma_ucm_migrate_id),
     sizeof(rdma_ucm_migrate_resp)},
    {RDMA_USER_CM_CMD_QUERY, ucm::query, sizeof(rdma_ucm_query), 0},
    {RDMA_USER_CM_CMD_BIND, ucm::bind, sizeof(rdma_ucm_bind), 0},
    {RDMA_USER_CM_CMD_RESOLVE_ADDR, ucm::resolve_addr, sizeof(rdma_ucm_resolve_addr), 0},
    {RDMA_USER_CM_CMD_JOIN_MCAST, ucm::join_mcast, sizeof(rdma_ucm_join_mcast),
     sizeof(rdma_ucm_create_id_resp)},
};

constexpr bool rows_stand_at_their_numbers() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].number != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_numbers());

/// Commands of newer kernels, for InfiniBand's subnet administration and for events of programs' own.
constexpr std::uint32_t kEndOfKnownNumbers = std::size(kRows) + 2;

/// The longest command, and what newer programs may append to it.
constexpr std::size_t kMostBytes = 512;
static_assert(std::all_of(std::begin(kRows), std::end(kRows),
                          [](const Row& row) { return row.least_bytes <= kMostBytes; }));

int carry_out(Channel& channel, std::uint64_t address, std::size_t size) {
  rdma_ucm_cmd_hdr header{};
  if (size < sizeof(header)) return EINVAL;
  if (!copy_from_program(std::as_writable_bytes(std::span(&header, 1)), address)) return EFAULT;
  if (header.cmd >= kEndOfKnownNumbers || header.in + sizeof(header) > size) return EINVAL;
  if (header.cmd >= std::size(kRows)) return EOPNOTSUPP;
  const Row& row = kRows[header.cmd];
  if (row.carry_out == nullptr) return ENOSYS;  // as in every kernel
  if (header.out < row.least_room) return ENOSPC;
  if (header.in < row.least_bytes) return EINVAL;

  std::array<std::byte, kMostBytes> memory{};
  const auto bytes = std::span(memory).first(std::min<std::size_t>(header.in, memory.size()));
  if (!copy_from_program(bytes, address + sizeof(header))) return EFAULT;
  const ucm::Command command{.channel = channel, .bytes = bytes, .room = header.out};
  if (const auto result = ucm::injected_result(row.number, command)) return *result;
  return row.carry_out(command);
}

}  // namespace

int write_command(Channel& channel, std::uint64_t address, std::size_t size) {
  if (channel.is_abandoned()) return EIO;
  try {
    return carry_out(channel, address, size);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace urnic::verbs_api
