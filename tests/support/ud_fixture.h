// UdTest: one datagram endpoint, with its memory, queues and sinks, driven by hand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "tests/support/qp_fixture.h"
#include "tests/support/rc_builders.h"
#include "transport/ud/endpoint.h"

namespace urnic::transport::test {

/// A datagram that owns its payload. Opcodes are written out on purpose: 0x64 SEND Only, 0x65 with immediate.
struct UdPacket {
  std::uint8_t opcode = 0x64;
  Psn psn;
  QpNumber destination_qp{};
  std::uint32_t qkey = 0;
  QpNumber source_qp{};
  std::uint32_t immediate = 0;
  bool solicited = false;
  bool ack_request = false;
  Bytes payload;

  friend bool operator==(const UdPacket&, const UdPacket&) = default;

  UdPacket with_qkey(std::uint32_t other) const;
  UdPacket with_immediate(std::uint32_t value) const;
  UdPacket solicits() const;
  UdPacket asking_for_ack() const;

  /// As the parser would hand it to the endpoint; payload and network header must outlive it.
  wire::Packet view(const Bytes& network_header) const;
};

void PrintTo(const UdPacket& packet, std::ostream* out);

class UdTest : public QpTest {
 protected:
  static constexpr std::uint32_t kQkey = 0x11111111;
  static constexpr AddressHandleId kPeerAddress{5};

  explicit UdTest(bool shares_receive_queue = false);

  Endpoint& endpoint() override { return endpoint_; }

  /// A datagram from the peer to us, PSN 0.
  static UdPacket datagram(Bytes payload);
  /// A datagram from us to the peer.
  static UdPacket to_peer(Psn psn, Bytes payload);
  /// A SEND of `length` bytes to the peer.
  static SendWr datagram_wr(std::uint64_t wr_id, std::uint32_t length, std::uint32_t qkey = kQkey);

  /// Headers that packets came with; the bytes do not repeat.
  static Bytes ipv4_header() { return payload(20, 4); }
  static Bytes ipv6_header() { return payload(40, 6); }

  /// The datagrams arrive in one burst; no packet may answer them.
  void peer_sends(const std::vector<UdPacket>& burst, const Bytes& network_header = ipv4_header());
  void peer_sends(std::initializer_list<UdPacket> burst) { peer_sends(std::vector<UdPacket>(burst)); }
  void peer_sends(const UdPacket& packet) { peer_sends({packet}); }

  /// Everything sent since the last call.
  std::vector<UdPacket> sent();

  UdEndpoint endpoint_;
};

}  // namespace urnic::transport::test
