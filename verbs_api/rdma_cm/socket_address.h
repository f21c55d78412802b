// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Socket addresses, as programs write them in memory and as rdma_cm has them.
#pragma once

#include <linux/types.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/rdma_cm/types.h"
#include "transport/result.h"

namespace urnic::verbs_api {

/// The family of InfiniBand's own addresses, which the C library's header does not have yet.
inline constexpr sa_family_t kIbFamily = 27;

/// struct sockaddr_ib of rdma-core's infiniband/ib.h, which belongs to librdmacm.
struct IbSocketAddress {
  std::uint16_t family = kIbFamily;
  __be16 pkey = 0;
  __be32 flow_info = 0;
  std::array<std::uint8_t, 16> gid{};
  __be64 service_id = 0;
  __be64 service_id_mask = 0;
  std::uint64_t scope_id = 0;
};
static_assert(sizeof(IbSocketAddress) == 48);

/// How many bytes an address of this one's family has: IPv4, IPv6 or InfiniBand; 0 for other families, and
/// where they are more than `memory`.
std::size_t socket_address_bytes(std::span<const std::byte> memory);

/// EINVAL when socket_address_bytes() is 0; EAFNOSUPPORT for InfiniBand's. An IPv6 flow label is cut to 20
/// bits.
Result<nic::rdma_cm::SocketAddress, int> to_socket_address(std::span<const std::byte> memory);

/// Writes struct sockaddr_in or sockaddr_in6, which must fit, and returns its size; 0, and writes nothing,
/// for an address without a family.
std::size_t write_socket_address(const nic::rdma_cm::SocketAddress& address, std::span<std::byte> to);

}  // namespace urnic::verbs_api
