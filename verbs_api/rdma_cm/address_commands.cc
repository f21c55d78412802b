// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses: binding ids to them, listening there, and finding the way to others.
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "verbs_api/rdma_cm/address_field.h"
#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/id_placement.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;
using Address = Result<SocketAddress, int>;

int bind_to(const Command& command, std::uint32_t id, const Address& address) {
  if (!address) return address.error();
  if (const int failed = start_nics(command, IdNumber{id}); failed != 0) return failed;
  const int failed = errno_of(bind_on_devices(command, IdNumber{id}, address.value()));
  if (failed == 0) keep_for_children(command, IdNumber{id});
  return failed;
}

int resolve(const Command& command, std::uint32_t id, const Address& source, const Address& destination,
            std::uint32_t timeout_ms) {
  if (!source) return source.error();
  if (!destination) return destination.error();
  if (const int failed = start_nics(command, IdNumber{id}); failed != 0) return failed;
  const int failed = errno_of(resolve_on_device(command, IdNumber{id}, source.value(), destination.value(),
                                                std::chrono::milliseconds(timeout_ms)));
  if (failed == 0) keep_for_children(command, IdNumber{id});
  return failed;
}

}  // namespace

int start_nics(const Command& command, IdNumber id) {
  for (ChannelPart* const part : parts_with(command, id)) {
    if (const auto started = part->nic().start(); !started) return report(started.error());
  }
  return 0;
}

int listen(const Command& command) {
  const auto wish = command.as<rdma_ucm_listen>();
  const IdNumber id{wish.id};
  if (const int failed = start_nics(command, id); failed != 0) return failed;
  const int failed = errno_of(listen_on_devices(command, id, wish.backlog));
  if (failed == 0) keep_for_children(command, id);
  return failed;
}

int bind_ip(const Command& command) {
  const auto wish = command.as<rdma_ucm_bind_ip>();
  return bind_to(command, wish.id, address_in(wish.addr));
}

int bind(const Command& command) {
  const auto wish = command.as<rdma_ucm_bind>();
  if (wish.reserved != 0) return EINVAL;
  return bind_to(command, wish.id, address_in(wish.addr, wish.addr_size));
}

int resolve_ip(const Command& command) {
  const auto wish = command.as<rdma_ucm_resolve_ip>();
  const bool has_source = wish.src_addr.sin6_family != 0;
  return resolve(command, wish.id, has_source ? address_in(wish.src_addr) : SocketAddress{},
                 address_in(wish.dst_addr), wish.timeout_ms);
}

int resolve_addr(const Command& command) {
  const auto wish = command.as<rdma_ucm_resolve_addr>();
  if (wish.reserved != 0) return EINVAL;
  const bool has_source = wish.src_size != 0;
  return resolve(command, wish.id, has_source ? address_in(wish.src_addr, wish.src_size) : SocketAddress{},
                 address_in(wish.dst_addr, wish.dst_size), wish.timeout_ms);
}

int resolve_route(const Command& command) {
  const auto wish = command.as<rdma_ucm_resolve_route>();
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.resolve_route(part.events(), IdNumber{wish.id}, std::chrono::milliseconds(wish.timeout_ms));
  }));
}

}  // namespace urnic::verbs_api::ucm
