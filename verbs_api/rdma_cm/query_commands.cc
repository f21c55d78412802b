// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What rdma_cm knows of an id.
#include <endian.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

#include "verbs_api/device/address.h"
#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/path_records.h"
#include "verbs_api/rdma_cm/program_memory.h"
#include "verbs_api/rdma_cm/qp_settings.h"
#include "verbs_api/rdma_cm/socket_address.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::Description;
using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;
using transport::wire::Gid;

/// The only one of RoCE.
constexpr std::uint16_t kPkey = 0xffff;
/// What ibv_get_device_index() says: there is none.
constexpr std::uint32_t kNoIndex = 0xffffffff;

template <typename Field>
std::size_t write(const SocketAddress& address, Field& field) {
  return write_socket_address(address, std::as_writable_bytes(std::span(&field, 1)));
}

/// Which device the id is on, if it is on one.
template <typename Response>
void write_device(const Description& id, Response& response) {
  response.ibdev_index = kNoIndex;
  if (!id.is_on_device) return;
  response.node_guid = htobe64(id.node_guid);
  response.port_num = kPort;
}

/// Before the route is known, its ends are what the addresses say.
ib_user_path_rec path_between(const Gid& source, const Gid& destination) {
  ib_user_path_rec record{};
  std::memcpy(record.sgid, source.octets.data(), sizeof(record.sgid));
  std::memcpy(record.dgid, destination.octets.data(), sizeof(record.dgid));
  record.pkey = htobe16(kPkey);
  return record;
}

Result<Description, Error> describe(const Command& command, std::uint32_t id) {
  ChannelPart& first = *parts_with(command, IdNumber{id}).front();
  return with_rdma_cm(first,
                      [&](RdmaCm& cm, ChannelPart& part) { return cm.query(part.events(), IdNumber{id}); });
}

int query_addr(const Command& command, const rdma_ucm_query& wish, const Description& id) {
  rdma_ucm_query_addr_resp response{};
  write_device(id, response);
  if (id.is_on_device) response.pkey = htobe16(kPkey);
  response.src_size = static_cast<std::uint16_t>(write(id.local, response.src_addr));
  response.dst_size = static_cast<std::uint16_t>(write(id.peer, response.dst_addr));
  return respond(command, wish.response, response);
}

/// rdma_ucm_query_path_resp, followed by a path.
struct PathResponse {
  std::uint32_t paths;
  std::uint32_t reserved;
  ib_path_rec_data path;
};
static_assert(offsetof(PathResponse, path) == sizeof(rdma_ucm_query_path_resp));

// A program that has no room for the path learns that there is one.
int query_path(const Command& command, const rdma_ucm_query& wish, const Description& id) {
  PathResponse response{};
  if (id.path) {
    response.paths = 1;
    response.path = to_path_data(*id.path);
  }
  const bool has_path = id.path && command.room >= sizeof(response);
  const std::size_t size = has_path ? sizeof(response) : offsetof(PathResponse, path);
  return copy_to_program(wish.response, std::as_bytes(std::span(&response, 1)).first(size)) ? 0 : EFAULT;
}

template <typename Field>
std::uint16_t write_gid(const Description& id, const SocketAddress& address, Field& field) {
  IbSocketAddress gid;
  if (id.is_on_device) {
    gid.pkey = htobe16(kPkey);
    gid.gid = address.address.octets;
  }
  gid.service_id = htobe64(static_cast<std::uint64_t>(id.port_space) << 16 | address.port);
  static_assert(sizeof(gid) <= sizeof(field));
  std::memcpy(&field, &gid, sizeof(gid));
  return sizeof(gid);
}

int query_gid(const Command& command, const rdma_ucm_query& wish, const Description& id) {
  rdma_ucm_query_addr_resp response{};
  write_device(id, response);
  if (id.is_on_device) response.pkey = htobe16(kPkey);
  response.src_size = write_gid(id, id.local, response.src_addr);
  response.dst_size = write_gid(id, id.peer, response.dst_addr);
  return respond(command, wish.response, response);
}

struct Question {
  int (*answer)(const Command& command, const rdma_ucm_query& wish, const Description& id);
  std::size_t least_room;
};

// By the numbers of RDMA_USER_CM_QUERY_*. Responses have grown since version 4 began.
constexpr Question kQuestions[] = {
    {query_addr, offsetof(rdma_ucm_query_addr_resp, ibdev_index)},
    {query_path, sizeof(rdma_ucm_query_path_resp)},
    {query_gid, offsetof(rdma_ucm_query_addr_resp, ibdev_index)},
};
static_assert(RDMA_USER_CM_QUERY_ADDR == 0 && RDMA_USER_CM_QUERY_PATH == 1 && RDMA_USER_CM_QUERY_GID == 2);

}  // namespace

int query_route(const Command& command) {
  const auto wish = command.as<rdma_ucm_query>();
  const auto id = describe(command, wish.id);
  if (!id) return errno_of(id);
  const Description& known = id.value();
  rdma_ucm_query_route_resp response{};
  write(known.local, response.src_addr);
  write(known.peer, response.dst_addr);
  write_device(known, response);
  if (known.path) {
    response.num_paths = 1;
    response.ib_route[0] = to_user_path(*known.path);
  } else if (known.is_on_device) {
    response.ib_route[0] = path_between(known.local.address, known.peer.address);
  }
  return respond(command, wish.response, response);
}

int query(const Command& command) {
  const auto wish = command.as<rdma_ucm_query>();
  const auto id = describe(command, wish.id);
  if (!id) return errno_of(id);
  if (wish.option >= std::size(kQuestions)) return ENOSYS;
  const Question& question = kQuestions[wish.option];
  return command.room < question.least_room ? ENOSPC : question.answer(command, wish, id.value());
}

int init_qp_attr(const Command& command) {
  const auto wish = command.as<rdma_ucm_init_qp_attr>();
  const auto state = to_qp_state(wish.qp_state);
  if (!state) return EINVAL;
  const auto settings = with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.init_qp_attributes(part.events(), IdNumber{wish.id}, *state);
  });
  if (!settings) return errno_of(settings);
  const auto attributes = to_kernel_attributes(settings.value());
  return attributes ? respond(command, wish.response, attributes.value()) : attributes.error();
}

}  // namespace urnic::verbs_api::ucm
