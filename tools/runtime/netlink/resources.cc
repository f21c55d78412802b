// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/resources.h"

#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <optional>

#include "nic/queues/queue_pair_snapshot.h"
#include "nic/rdma_cm/id_snapshot.h"

namespace urnic::netlink {
namespace {

using nic::ProgramObjects;
using nic::QpType;
using nic::rdma_cm::IdState;
using tools::NicProcess;

constexpr std::uint32_t kPort = 1;

/// enum ib_qp_type of Linux' include/rdma/ib_verbs.h. Nothing for what is no queue pair to the kernel.
std::optional<std::uint8_t> kernel_type(QpType type) {
  constexpr std::uint8_t kRc = 2, kUc = 3, kUd = 4, kRawPacket = 8, kXrcInitiator = 9, kXrcTarget = 10;
  switch (type) {
    case QpType::kRc:
      return kRc;
    case QpType::kUc:
      return kUc;
    case QpType::kUd:
      return kUd;
    case QpType::kXrcInitiator:
      return kXrcInitiator;
    case QpType::kXrcTarget:
      return kXrcTarget;
    case QpType::kRawPacket:
    case QpType::kRss:
      return kRawPacket;
    case QpType::kWorkQueue:
      return std::nullopt;
  }
  return std::nullopt;
}

/// enum ib_qp_state.
std::uint8_t kernel_state(transport::QpState state) {
  using transport::QpState;
  switch (state) {
    case QpState::kReset:
      return 0;
    case QpState::kInit:
      return 1;
    case QpState::kReadyToReceive:
      return 2;
    case QpState::kReadyToSend:
      return 3;
    case QpState::kSqDrained:
      return 4;
    case QpState::kSqError:
      return 5;
    case QpState::kError:
      return 6;
  }
  return 6;
}

/// enum rdma_cm_state of Linux' include/rdma/rdma_cm.h, as iproute2 names the numbers.
std::uint8_t kernel_state(IdState state) {
  switch (state) {
    case IdState::kIdle:
    case IdState::kBinding:
      return 0;
    case IdState::kAddressQuery:
      return 1;
    case IdState::kAddressResolved:
      return 2;
    case IdState::kRouteResolved:
      return 4;
    case IdState::kConnect:
      return 5;
    case IdState::kDisconnect:
      return 6;
    case IdState::kAddressBound:
      return 7;
    case IdState::kListen:
      return 8;
  }
  return 0;
}

std::uint8_t kernel_type(nic::rdma_cm::Service service) {
  using nic::rdma_cm::Service;
  switch (service) {
    case Service::kRc:
      return *kernel_type(QpType::kRc);
    case Service::kUc:
      return *kernel_type(QpType::kUc);
    case Service::kUd:
      return *kernel_type(QpType::kUd);
    case Service::kXrc:
      return *kernel_type(QpType::kXrcInitiator);
  }
  return *kernel_type(QpType::kRc);
}

bool has_one_peer(QpType type) {
  return type == QpType::kRc || type == QpType::kUc;
}

bool is_xrc(QpType type) {
  return type == QpType::kXrcInitiator || type == QpType::kXrcTarget;
}

/// A process of another PID namespace has no number here.
void add_owner(const NicProcess& process, AttributeWriter& to) {
  if (process.pid > 0) to.u32(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(process.pid));
}

void add_queue_pairs(const NicProcess& process, std::vector<Resource>& to) {
  constexpr std::uint8_t kMigrated = 0;
  for (const nic::QueuePairSnapshot& qp : process.snapshot->queue_pairs) {
    const auto type = kernel_type(qp.type);
    if (!type) continue;
    Resource& added = to.emplace_back();
    added.number = to_integer(qp.number);
    AttributeWriter& attributes = added.attributes;
    attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
    attributes.u32(RDMA_NLDEV_ATTR_RES_LQPN, added.number);
    if (qp.domain) attributes.u32(RDMA_NLDEV_ATTR_RES_PDN, *qp.domain);
    add_owner(process, attributes);
    if (has_one_peer(qp.type)) {
      attributes.u32(RDMA_NLDEV_ATTR_RES_RQPN, to_integer(qp.peer_qp));
      attributes.u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, qp.receive_psn.value());
    }
    attributes.u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, qp.send_psn.value());
    if (has_one_peer(qp.type) || is_xrc(qp.type)) {
      attributes.u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, kMigrated);
    }
    attributes.u8(RDMA_NLDEV_ATTR_RES_TYPE, *type);
    attributes.u8(RDMA_NLDEV_ATTR_RES_STATE, kernel_state(qp.state));
  }
}

/// A struct sockaddr_storage, all of it, as the kernel sends it.
void add_address(std::uint16_t type, const nic::rdma_cm::SocketAddress& address, AttributeWriter& to) {
  using Family = nic::rdma_cm::SocketAddress::Family;
  sockaddr_storage storage{};
  if (address.family == Family::kNone) return;
  if (address.family == Family::kIpv4) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(address.port);
    const auto octets = address.address.ipv4().octets;
    std::memcpy(&ipv4.sin_addr, octets.data(), octets.size());
    std::memcpy(&storage, &ipv4, sizeof ipv4);
  } else {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(address.port);
    std::memcpy(&ipv6.sin6_addr, address.address.octets.data(), address.address.octets.size());
    std::memcpy(&storage, &ipv6, sizeof ipv6);
  }
  to.bytes(type, std::as_bytes(std::span(&storage, 1)));
}

void add_ids(const NicProcess& process, std::vector<Resource>& to) {
  for (const nic::rdma_cm::IdSnapshot& id : process.snapshot->ids) {
    Resource& added = to.emplace_back();
    added.number = transport::to_integer(id.number);
    AttributeWriter& attributes = added.attributes;
    attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
    if (id.qp != transport::QpNumber{}) {
      attributes.u32(RDMA_NLDEV_ATTR_RES_LQPN, to_integer(id.qp));
      attributes.u8(RDMA_NLDEV_ATTR_RES_TYPE, kernel_type(id.service));
    }
    attributes.u32(RDMA_NLDEV_ATTR_RES_PS, static_cast<std::uint32_t>(id.space));
    attributes.u8(RDMA_NLDEV_ATTR_RES_STATE, kernel_state(id.state));
    add_address(RDMA_NLDEV_ATTR_RES_SRC_ADDR, id.local, attributes);
    add_address(RDMA_NLDEV_ATTR_RES_DST_ADDR, id.peer, attributes);
    attributes.u32(RDMA_NLDEV_ATTR_RES_CM_IDN, added.number);
    add_owner(process, attributes);
  }
}

void add_completion_queues(const NicProcess& process, std::vector<Resource>& to) {
  for (const ProgramObjects::CompletionQueue& queue : process.snapshot->objects.completion_queues) {
    Resource& added = to.emplace_back(Resource{.number = queue.number});
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_CQE, queue.capacity);
    added.attributes.u64(RDMA_NLDEV_ATTR_RES_USECNT, queue.users);
    added.attributes.u8(RDMA_NLDEV_ATTR_DEV_DIM, 0);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_CQN, queue.number);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_CTXN, queue.context);
    add_owner(process, added.attributes);
  }
}

/// A region's number is its key's without the tag, which changes when the slot is used again
/// (nic/memory/memory_region.h). The kernel shows keys to an administrator only; these are regions of the
/// user who asks.
void add_memory_regions(const NicProcess& process, std::vector<Resource>& to) {
  constexpr unsigned kTagBits = 8;
  for (const ProgramObjects::MemoryRegion& region : process.snapshot->objects.memory_regions) {
    Resource& added = to.emplace_back(Resource{.number = region.key >> kTagBits});
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_RKEY, region.key);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_LKEY, region.key);
    added.attributes.u64(RDMA_NLDEV_ATTR_RES_IOVA, region.address);
    added.attributes.u64(RDMA_NLDEV_ATTR_RES_MRLEN, region.length);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_MRN, added.number);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_PDN, region.domain);
    add_owner(process, added.attributes);
  }
}

void add_protection_domains(const NicProcess& process, std::vector<Resource>& to) {
  for (const ProgramObjects::ProtectionDomain& domain : process.snapshot->objects.protection_domains) {
    Resource& added = to.emplace_back(Resource{.number = domain.number});
    added.attributes.u64(RDMA_NLDEV_ATTR_RES_USECNT, domain.users);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_PDN, domain.number);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_CTXN, domain.context);
    add_owner(process, added.attributes);
  }
}

void add_contexts(const NicProcess& process, std::vector<Resource>& to) {
  for (const std::uint32_t number : process.snapshot->objects.contexts) {
    Resource& added = to.emplace_back(Resource{.number = number});
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_CTXN, number);
    add_owner(process, added.attributes);
  }
}

/// The queue pairs that take from the queue, as ranges of neighboring numbers.
AttributeWriter users_of(std::uint32_t srq, const NicProcess& process) {
  std::vector<std::uint32_t> numbers;
  for (const nic::QueuePairSnapshot& qp : process.snapshot->queue_pairs) {
    if (qp.srq == srq) numbers.push_back(to_integer(qp.number));
  }
  std::sort(numbers.begin(), numbers.end());
  AttributeWriter ranges;
  for (std::size_t first = 0, end = 0; first < numbers.size(); first = end) {
    for (end = first + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    AttributeWriter range;
    if (end - first == 1) {
      range.u32(RDMA_NLDEV_ATTR_RES_LQPN, numbers[first]);
    } else {
      range.u32(RDMA_NLDEV_ATTR_MIN_RANGE, numbers[first]);
      range.u32(RDMA_NLDEV_ATTR_MAX_RANGE, numbers[end - 1]);
    }
    ranges.nested(RDMA_NLDEV_ATTR_RES_QP_ENTRY, range);
  }
  return ranges;
}

void add_shared_receive_queues(const NicProcess& process, std::vector<Resource>& to) {
  constexpr std::uint8_t kBasic = 0, kXrc = 1;  // enum ib_srq_type
  for (const ProgramObjects::SharedReceiveQueue& srq : process.snapshot->objects.shared_receive_queues) {
    Resource& added = to.emplace_back(Resource{.number = srq.number});
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_SRQN, srq.number);
    added.attributes.u8(RDMA_NLDEV_ATTR_RES_TYPE, srq.completion_queue ? kXrc : kBasic);
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_PDN, srq.domain);
    if (srq.completion_queue) added.attributes.u32(RDMA_NLDEV_ATTR_RES_CQN, *srq.completion_queue);
    added.attributes.nested(RDMA_NLDEV_ATTR_RES_QP, users_of(srq.number, process));
    add_owner(process, added.attributes);
  }
}

constexpr ResourceKind kKinds[] = {
    {RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN,
     "pd", false, add_protection_domains},
    {RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN,
     "cq", false, add_completion_queues},
    {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
     RDMA_NLDEV_ATTR_RES_LQPN, "qp", true, add_queue_pairs},
    {RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
     RDMA_NLDEV_ATTR_RES_CM_IDN, "cm_id", true, add_ids},
    {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN,
     "mr", false, add_memory_regions},
    {RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
     RDMA_NLDEV_ATTR_RES_CTXN, "ctx", false, add_contexts},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
     RDMA_NLDEV_ATTR_RES_SRQN, "srq", false, add_shared_receive_queues},
};

}  // namespace

std::span<const ResourceKind> resource_kinds() {
  return kKinds;
}

const ResourceKind& resource_kind_of(std::uint16_t command) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [command](const auto& kind) { return kind.command == command; });
  assert(found != std::end(kKinds));
  return *found;
}

std::vector<Resource> resources_of(const ResourceKind& kind, std::string_view device,
                                   const std::vector<NicProcess>& processes) {
  std::vector<Resource> resources;
  for (const NicProcess& process : processes) {
    if (process.snapshot && process.snapshot->device == device) kind.add(process, resources);
  }
  return resources;
}

}  // namespace urnic::netlink
