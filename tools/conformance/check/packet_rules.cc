// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packet_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::uint32_t kGsiQkey = 0x80010000;
constexpr std::size_t kCnpBytes = 16;

/// Adds findings about one packet.
class PacketJudge {
 public:
  PacketJudge(const Packet& packet, std::uint64_t number, std::uint32_t flow, Findings& findings)
      : packet_(packet), info_(*packet.info), number_(number), flow_(flow), findings_(findings) {}

  void judge() {
    judge_padding();
    judge_payload();
    judge_flags();
    if (info_.has_aeth && kind_of(packet_.syndrome) == AnswerKind::kReserved) {
      complain(Rule::kSyndrome, "ACK, RNR NAK or NAK 0 to 4", describe_syndrome(packet_.syndrome));
    }
    if (!info_.is_acknowledge() && info_.has_aeth && kind_of(packet_.syndrome) != AnswerKind::kAck) {
      complain(Rule::kSyndrome, "ACK in a response with data", describe_syndrome(packet_.syndrome));
    }
    if (info_.operation == Operation::kSelectiveNak &&
        kind_of(packet_.syndrome) != AnswerKind::kSequenceNak) {
      complain(Rule::kSyndrome, "NAK PSN sequence error in a selective NAK",
               describe_syndrome(packet_.syndrome));
    }
    if (info_.service == Service::kUd) {
      judge_datagram();
    } else if (info_.service == Service::kCnp) {
      judge_cnp();
    }
  }

 private:
  void complain(Rule rule, std::string expected, std::string seen) {
    findings_.add(rule, flow_, {number_}, std::move(expected), std::move(seen));
  }

  void judge_padding() {
    // Only the end of a payload is padded: First and Middle fill an MTU, which is a multiple of four.
    if (packet_.pad_bytes != 0 && (!info_.has_payload || !info_.ends_message())) {
      complain(Rule::kPadCount, fmt::format("no padding in {}", name_of(packet_.opcode)),
               fmt::format("{} bytes", packet_.pad_bytes));
    } else if (std::any_of(packet_.padding.begin(), packet_.padding.end(),
                           [](std::byte octet) { return octet != std::byte{0}; })) {
      complain(Rule::kPadNotZero, "padding of zeros", fmt::format("{} bytes with others", packet_.pad_bytes));
    }
  }

  void judge_payload() {
    if (info_.operation == Operation::kSelectiveNak && packet_.payload_bytes != kSelectiveNakBytes) {
      complain(Rule::kOpcodeLength, fmt::format("{} bytes about packets", kSelectiveNakBytes),
               fmt::format("{} bytes", packet_.payload_bytes));
    }
    if (!info_.has_payload && packet_.payload_bytes > 0 && packet_.pad_bytes == 0) {
      complain(Rule::kPayloadUnexpected, fmt::format("{} without payload", name_of(packet_.opcode)),
               fmt::format("{} bytes", packet_.payload_bytes));
    }
    if (packet_.payload_bytes > kLargestMtu) {
      complain(Rule::kMtu, fmt::format("at most {} bytes", kLargestMtu),
               fmt::format("{} bytes", packet_.payload_bytes));
    }
    constexpr std::uint32_t kLongest = 1u << 31;
    if (info_.has_reth && packet_.length > kLongest) {
      complain(Rule::kRethLimit, "at most 2^31 bytes", fmt::format("{} bytes", packet_.length));
    }
  }

  void judge_flags() {
    if (packet_.version != 0) complain(Rule::kTransportVersion, "0", std::to_string(packet_.version));
    if ((packet_.p_key & 0x7fff) == 0) {
      complain(Rule::kPkeyInvalid, "a P_Key", fmt::format("{:#06x}", packet_.p_key));
    }
    if (packet_.solicited && info_.service != Service::kCnp && !info_.may_set_solicited()) {
      complain(Rule::kSolicitedEvent, "no solicited event", name_of(packet_.opcode));
    }
    const bool is_unreliable = info_.service == Service::kUc || info_.service == Service::kUd;
    if (packet_.ack_requested && info_.is_response()) {
      complain(Rule::kAckReqOnResponse, "no AckReq", name_of(packet_.opcode));
    } else if (packet_.ack_requested && is_unreliable) {
      // Fact 18: rdma_rxe asks for an acknowledgement of its management datagrams, which never comes.
      complain(packet_.destination_qp == kGsiQp ? Rule::kAckReqOnMad : Rule::kAckReqUnreliable, "no AckReq",
               name_of(packet_.opcode));
    }
    if (packet_.reserved != 0) {
      complain(Rule::kReservedBits, "zeros", fmt::format("{:#04x}", packet_.reserved));
    }
    if (packet_.fecn) complain(Rule::kFecn, "FECN 0", "1");
    if (!packet_.migration && info_.service != Service::kCnp) {
      findings_.add(Rule::kMigrationZero, flow_, {number_}, [](Finding& finding) {
        finding.expected = "MigReq 1";
        finding.seen = "0";
      });
    }
  }

  void judge_datagram() {
    if (packet_.destination_qp != kGsiQp) return;
    if (packet_.q_key != kGsiQkey) {  // fact 16
      complain(Rule::kQkeyQp1, key_text(kGsiQkey), key_text(packet_.q_key));
    }
    if (packet_.payload_bytes != kMadBytes) {  // fact 44
      complain(Rule::kMadLength, fmt::format("{} bytes", kMadBytes),
               fmt::format("{} bytes", packet_.payload_bytes));
    }
  }

  // Fact 49.
  void judge_cnp() {
    if (!packet_.becn) complain(Rule::kCnpBecn, "BECN 1", "0");
    const bool has_zeros = std::all_of(packet_.payload.begin(), packet_.payload.end(),
                                       [](std::byte octet) { return octet == std::byte{0}; });
    if (packet_.psn != Psn(0) || packet_.ack_requested || packet_.solicited || packet_.pad_bytes != 0) {
      complain(Rule::kCnpForm, "PSN 0, no AckReq, no solicited event, no padding",
               fmt::format("PSN {}, AckReq {:d}, solicited event {:d}, padding {}", packet_.psn.value(),
                           packet_.ack_requested, packet_.solicited, packet_.pad_bytes));
    } else if (packet_.payload_bytes != kCnpBytes || !has_zeros) {
      complain(Rule::kCnpForm, fmt::format("{} bytes of zeros", kCnpBytes),
               fmt::format("{} bytes{}", packet_.payload_bytes, has_zeros ? "" : " with others"));
    }
  }

  const Packet& packet_;
  const OpcodeInfo& info_;
  std::uint64_t number_;
  std::uint32_t flow_;
  Findings& findings_;
};

void check_udp_checksum(const Frame& frame, std::uint64_t number, std::uint32_t flow, Findings& findings) {
  const UdpChecksum checksum = judge_udp_checksum(frame);
  if (checksum == UdpChecksum::kWrong) {
    findings.add(Rule::kUdpChecksum, flow, {number}, "0 or the right one",
                 fmt::format("{:#06x}", frame.udp_checksum));
  } else if (checksum == UdpChecksum::kAbsent && frame.is_ipv6) {
    findings.add(Rule::kUdpChecksumZeroIpv6, flow, {number}, "a checksum over IPv6", "0");
  }
}

}  // namespace

void check_frame(const Frame& frame, std::uint64_t number, std::uint32_t flow, Findings& findings) {
  const auto complain = [&](Rule rule, std::string expected, std::string seen) {
    findings.add(rule, flow, {number}, std::move(expected), std::move(seen));
  };
  const bool is_ipv4 = !frame.is_ipv6 && !frame.is_roce_v1;
  // A sender's own capture may show a checksum that its NIC has yet to fill in.
  if (is_ipv4 && !ipv4_checksum_is_right(frame.ip_header) && load_u16(frame.ip_header, 10) != 0) {
    complain(Rule::kIpChecksum, "the checksum of the header",
             fmt::format("{:#06x}", load_u16(frame.ip_header, 10)));
  }
  switch (frame.fault) {
    case FrameFault::kFragment:
      return complain(Rule::kIpFragment, "a whole datagram", "its first fragment");
    case FrameFault::kIpLength:
      return complain(Rule::kIpLength, "room for the headers", fmt::format("{} bytes", frame.ip_length));
    case FrameFault::kUdpLength:
      return complain(Rule::kUdpLength,
                      fmt::format("24 to {} bytes", frame.ip_length - frame.ip_header.size()),
                      fmt::format("{} bytes", frame.udp_length));
    case FrameFault::kNone:
      break;
  }
  if (frame.is_roce_v1) return;
  const std::size_t length = frame.ip_header.size() + frame.ip_extensions.size() + frame.udp_length;
  if (frame.ip_length != length) {
    complain(Rule::kIpLength, fmt::format("{} bytes", length), fmt::format("{} bytes", frame.ip_length));
  }
  check_udp_checksum(frame, number, flow, findings);
  if (frame.trailing_bytes > 0) {
    findings.add(Rule::kEthernetPadding, flow, {number}, [&](Finding& finding) {
      finding.expected = "the end of the frame";
      finding.seen = fmt::format("{} bytes after the datagram", frame.trailing_bytes);
    });
  }
}

void report_fault(const Frame& frame, const Packet& packet, std::uint64_t number, std::uint32_t flow,
                  Findings& findings) {
  const auto complain = [&](Rule rule, std::string expected, std::string seen) {
    findings.add(rule, flow, {number}, std::move(expected), std::move(seen));
  };
  switch (packet.fault) {
    case PacketFault::kNone:
      return;
    case PacketFault::kUnknownOpcode:
      return complain(Rule::kOpcodeUnknown, "an opcode of RC, UC, UD, XRC or CNP", name_of(packet.opcode));
    case PacketFault::kTooShort:
      return complain(Rule::kOpcodeLength,
                      fmt::format("{} bytes at least for {}", packet.info->header_bytes() + kIcrcBytes,
                                  name_of(packet.opcode)),
                      fmt::format("{} bytes", frame.ib_bytes));
    case PacketFault::kMisaligned:
      return complain(Rule::kLengthAlignment, "a multiple of 4 bytes",
                      fmt::format("{} bytes", frame.ib_bytes));
    case PacketFault::kPadding:
      return complain(Rule::kPadCount, "as much payload as padding, or more",
                      fmt::format("{} bytes of padding", packet.pad_bytes));
    case PacketFault::kCut:
      return complain(Rule::kCutFrame, "the headers", "a part of them");
  }
}

void check_packet(const Packet& packet, std::uint64_t number, std::uint32_t flow, Findings& findings) {
  PacketJudge(packet, number, flow, findings).judge();
}

}  // namespace urnic::check
