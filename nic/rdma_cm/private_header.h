// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What rdma_cm writes in front of the private data of REQ and SIDR_REQ, and into service IDs (fact 45).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/cm/types.h"
#include "nic/rdma_cm/types.h"

namespace urnic::nic::rdma_cm {

inline constexpr std::size_t kPrivateHeaderBytes = 36;
/// What is left for programs.
inline constexpr std::size_t kReqUserBytes = cm::kReqPrivateBytes - kPrivateHeaderBytes;
inline constexpr std::size_t kSidrReqUserBytes = cm::kSidrReqPrivateBytes - kPrivateHeaderBytes;

/// The addresses of the side that asks and of the side that it asks. The port is the source's; the
/// destination's port is in the service ID.
struct PrivateHeader {
  SocketAddress source;
  SocketAddress destination;
};

/// Nothing for another version, another kind of address, or too few bytes.
std::optional<PrivateHeader> parse_private_header(std::span<const std::byte> private_data);
/// Writes it to the front of `private_data`. Both are IPv4 addresses, mapped ones included, or neither.
void write_private_header(const PrivateHeader& header, std::span<std::byte> private_data);

cm::ServiceId service_id_of(PortSpace space, std::uint16_t port);

struct ServicePort {
  PortSpace space{};
  std::uint16_t port = 0;
};
/// Nothing for a service that rdma_cm has not named.
std::optional<ServicePort> parse_service_id(cm::ServiceId id);

/// The flow label of a connection (fact 8).
std::uint32_t flow_label_of(const SocketAddress& source, const SocketAddress& destination);

}  // namespace urnic::nic::rdma_cm
