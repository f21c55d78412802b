// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses in the fields of commands.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>

#include "nic/rdma_cm/types.h"
#include "transport/result.h"
#include "verbs_api/rdma_cm/socket_address.h"

namespace urnic::verbs_api::ucm {

/// Of commands for IP addresses; their field is a struct sockaddr_in6, which may hold a sockaddr_in.
template <typename Field>
Result<nic::rdma_cm::SocketAddress, int> address_in(const Field& field) {
  return to_socket_address(std::as_bytes(std::span(&field, 1)));
}

/// Of commands for all addresses, which say its size, too. EINVAL: its family has another.
template <typename Field>
Result<nic::rdma_cm::SocketAddress, int> address_in(const Field& field, std::size_t size) {
  const auto memory = std::as_bytes(std::span(&field, 1));
  if (size == 0 || size != socket_address_bytes(memory)) return EINVAL;
  return to_socket_address(memory);
}

}  // namespace urnic::verbs_api::ucm
