// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The InfiniBand packets of a capture, for tests that send or receive what others sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "transport/wire/packet.h"

namespace urnic::transport::test {

struct CapturedPacket {
  Bytes ib;              ///< BTH to padding
  Bytes network_header;  ///< IPv4 (20 bytes) or IPv6

  /// Parsed; points into this object.
  wire::Packet view() const;
  /// The bytes as we would send them: MigReq is 1 (fact 15).
  Bytes with_migration_state() const;
};

/// The packets of pcap_fixtures/NAME.pcap, in order. If it cannot be read, the test fails, and there are
/// none.
std::vector<CapturedPacket> captured_in(const std::string& name);

/// The packets of a capture outside the project (NAME without .pcap); empty when the folder is not there.
std::vector<CapturedPacket> captured_outside(const std::string& name);

/// The packets whose sender's IP address ends in `host`.
std::vector<CapturedPacket> from_host(const std::vector<CapturedPacket>& packets, std::uint8_t host);

/// All their payloads, one after the other.
Bytes payloads_of(const std::vector<CapturedPacket>& packets);

/// Their bytes as we would send them.
std::vector<Bytes> as_we_send(const std::vector<CapturedPacket>& packets);

/// What the program `vs` sends (pcap_fixtures/README.md): the first `size` bytes of its memory.
Bytes captured_pattern(std::size_t size);

}  // namespace urnic::transport::test
