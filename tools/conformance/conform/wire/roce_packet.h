// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IP packets around what a script calls a packet: BTH to padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/wire/address.h"

namespace urnic::conform {

/// Between the tester and the peer.
struct Addresses {
  transport::wire::Gid own;
  transport::wire::Gid peer;
};

/// IP, UDP, `ib` and an ICRC. The judge of captures works it out, so that the product does not confirm
/// itself.
std::vector<std::byte> make_roce_packet(const Addresses& addresses, std::span<const std::byte> ib);

/// What came from the peer.
struct HeardPacket {
  std::vector<std::byte> ib;  ///< BTH to padding
  std::uint32_t destination_qp = 0;
  std::string fault;  ///< empty, or what is wrong around it: lengths, checksums, ICRC
  std::uint8_t traffic_class = 0;
};

/// Reads a packet from its IP header on. Nothing if it is no RoCEv2, or of another host.
std::optional<HeardPacket> read_roce_packet(const Addresses& addresses, std::span<const std::byte> packet);

}  // namespace urnic::conform
