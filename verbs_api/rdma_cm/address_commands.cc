// Addresses: binding ids to them, and finding the way to others.
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "verbs_api/rdma_cm/address_field.h"
#include "verbs_api/rdma_cm/command.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;
using nic::rdma_cm::SocketAddress;
using Address = Result<SocketAddress, int>;

int bind_to(const Command& command, std::uint32_t id, const Address& address) {
  if (!address) return address.error();
  if (const int failed = start_nic(command); failed != 0) return failed;
  const int failed = errno_of(with_ports(
      command, [&](RdmaCm& cm) { return cm.bind(command.channel.events(), IdNumber{id}, address.value()); }));
  if (failed == 0) keep_for_children(command, IdNumber{id});
  return failed;
}

int resolve(const Command& command, std::uint32_t id, const Address& source, const Address& destination,
            std::uint32_t timeout_ms) {
  if (!source) return source.error();
  if (!destination) return destination.error();
  if (const int failed = start_nic(command); failed != 0) return failed;
  const int failed = errno_of(with_ports(command, [&](RdmaCm& cm) {
    return cm.resolve_address(command.channel.events(), IdNumber{id}, source.value(), destination.value(),
                              std::chrono::milliseconds(timeout_ms), command.channel.nic().now());
  }));
  if (failed == 0) keep_for_children(command, IdNumber{id});
  return failed;
}

}  // namespace

int start_nic(const Command& command) {
  const auto started = command.channel.nic().start();
  return started ? 0 : report(started.error());
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
  return errno_of(with_rdma_cm(command, [&](RdmaCm& cm) {
    return cm.resolve_route(command.channel.events(), IdNumber{wish.id},
                            std::chrono::milliseconds(wish.timeout_ms));
  }));
}

}  // namespace urnic::verbs_api::ucm
