// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/cm/form.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::uint16_t kClassPortInfo = 1;  // asks what a manager can do; any class has it

/// Bits that no field has, by their place after the datagram's header, as tshark shows them. REQ, REP
/// and SIDR_REP have a vendor's options in places that were reserved once (fact 48): those are not here.
struct ReservedBits {
  CmKind kind;
  std::size_t at;
  std::uint8_t mask;
};
constexpr std::array kReserved = {
    ReservedBits{CmKind::kRequest, 4, 0xff},
    ReservedBits{CmKind::kRequest, 24, 0xff},
    ReservedBits{CmKind::kRequest, 25, 0xff},
    ReservedBits{CmKind::kRequest, 26, 0xff},
    ReservedBits{CmKind::kRequest, 27, 0xff},
    ReservedBits{CmKind::kRequest, 90, 0x0f},
    ReservedBits{CmKind::kRequest, 91, 0xc0},
    ReservedBits{CmKind::kRequest, 94, 0x07},
    ReservedBits{CmKind::kRequest, 95, 0x07},
    ReservedBits{CmKind::kRequest, 134, 0x0f},
    ReservedBits{CmKind::kRequest, 135, 0xc0},
    ReservedBits{CmKind::kRequest, 138, 0x07},
    ReservedBits{CmKind::kRequest, 139, 0x07},
    ReservedBits{CmKind::kReply, 27, 0x0f},
    ReservedBits{CmKind::kMessageReceipt, 8, 0x3f},
    ReservedBits{CmKind::kMessageReceipt, 9, 0x07},
    ReservedBits{CmKind::kReject, 8, 0x3f},
    ReservedBits{CmKind::kReject, 9, 0x01},
    ReservedBits{CmKind::kDisconnectRequest, 11, 0xff},
    ReservedBits{CmKind::kServiceRequest, 6, 0xff},
    ReservedBits{CmKind::kServiceRequest, 7, 0xff},
};

/// Where rdma_cm's addresses begin in REQ and SIDR_REQ, and what stands there (fact 45).
constexpr std::size_t kRequestPrivateAt = 140;
constexpr std::size_t kServicePrivateAt = 16;
constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 20;
constexpr std::size_t kAddressBytes = 16;
constexpr std::size_t kLocalGidAt = 56;
constexpr std::size_t kRemoteGidAt = 72;

Address address_at(ByteView bytes, std::size_t at) {
  Address address;
  for (std::size_t i = 0; i < kAddressBytes; ++i) address.octets[i] = load_u8(bytes, at + i);
  return address;
}

/// An IPv4 address of rdma_cm's header, which is in the last four bytes, as the GID that maps it.
Address ipv4_at(ByteView bytes, std::size_t at) {
  Address address = address_at(bytes, at);
  std::fill_n(address.octets.begin(), 10, std::uint8_t{0});
  address.octets[10] = address.octets[11] = 0xff;
  return address;
}

bool has_rdma_cm_header(std::uint64_t service_id) {
  const std::uint64_t port_space = service_id >> 16;
  return port_space == 0x0106 || port_space == 0x0111;
}

class FormJudge {
 public:
  FormJudge(const Seen& seen, std::uint32_t flow, Findings& findings)
      : seen_(seen), bytes_(seen.packet.payload), flow_(flow), findings_(findings) {}

  void judge() {
    if (!has_right_header(seen_.packet)) {
      return complain(Rule::kCmHeader, "base version 1, class version 2, method 3",
                      fmt::format("{}, {}, {}", load_u8(bytes_, 0), load_u8(bytes_, 2), load_u8(bytes_, 3)));
    }
    if (seen_.packet.source_qp != kGsiQp) {
      complain(Rule::kCmSourceQp, "queue pair 1", qp_text(seen_.packet.source_qp));
    }
    const std::uint16_t attribute = load_u16(bytes_, 16);
    const auto message = parse_cm(seen_.packet);
    if (!message) {
      if (attribute != kClassPortInfo) {
        complain(Rule::kCmAttribute, "an attribute from 0x10 to 0x1a", fmt::format("{:#x}", attribute));
      }
      return;
    }
    judge_reserved(message->kind);
    switch (message->kind) {
      case CmKind::kRequest:
        judge_request(*message);
        judge_rdma_cm(*message, kRequestPrivateAt);
        break;
      case CmKind::kServiceRequest:
        judge_p_key(load_u16(body(), 4));
        judge_rdma_cm(*message, kServicePrivateAt);
        break;
      case CmKind::kReject:
      case CmKind::kServiceReply:
        judge_reason(*message);
        break;
      default:
        break;
    }
  }

 private:
  ByteView body() const { return bytes_.subspan(kMadHeaderBytes); }

  void complain(Rule rule, std::string expected, std::string what) {
    findings_.add(rule, flow_, {seen_.number}, std::move(expected), std::move(what));
  }

  void judge_reserved(CmKind kind) {
    const bool has_vendor_options =
        kind == CmKind::kRequest || kind == CmKind::kReply || kind == CmKind::kServiceReply;
    const auto complain_at = [&](const char* where, std::size_t at) {
      complain(Rule::kCmReserved, "zeros", fmt::format("{}, byte {} of the {}", to_string(kind), at, where));
    };
    for (std::size_t at = 4; at < kMadHeaderBytes; ++at) {
      const bool is_status = at < 8;
      const bool is_behind_attribute = at >= 18 && at < (has_vendor_options ? 20u : kMadHeaderBytes);
      if ((is_status || is_behind_attribute) && load_u8(bytes_, at) != 0) return complain_at("header", at);
    }
    for (const ReservedBits& bits : kReserved) {
      if (bits.kind == kind && (load_u8(body(), bits.at) & bits.mask) != 0) {
        return complain_at("message", bits.at);
      }
    }
  }

  void judge_p_key(std::uint16_t p_key) {
    if ((p_key & 0x7fff) == 0) complain(Rule::kCmPkey, "a P_Key", fmt::format("{:#06x}", p_key));
  }

  void judge_request(const CmMessage& request) {
    judge_p_key(load_u16(body(), 48));
    if (request.path_mtu == 0) {
      complain(Rule::kCmPathMtu, "a code from 1 to 5", std::to_string(load_u8(body(), 50) >> 4));
    }
    if (request.transport == CmTransport::kOther) {
      complain(Rule::kCmTransport, "RC, UC or XRC",
               fmt::format("type {}, extended {}", load_u8(body(), 43) >> 1 & 3, load_u8(body(), 51) & 7));
    }
  }

  void judge_rdma_cm(const CmMessage& message, std::size_t at) {
    if (!has_rdma_cm_header(message.service_id)) return;
    const ByteView header = body().subspan(at);
    const std::uint8_t version = load_u8(header, 0);
    const auto ip_version = static_cast<std::uint8_t>(load_u8(header, 1) >> 4);
    if (version != 0 || (ip_version != 4 && ip_version != 6) || (load_u8(header, 1) & 0xf) != 0) {
      return complain(Rule::kCmPrivateHeader, "version 0, IP version 4 or 6",
                      fmt::format("{}, {}", version, ip_version));
    }
    // RoCEv1 had GIDs made from MACs, which name no IP address.
    if (message.kind != CmKind::kRequest || seen_.frame.is_roce_v1) return;
    const Address local = address_at(body(), kLocalGidAt);
    const Address remote = address_at(body(), kRemoteGidAt);
    const bool is_ipv4 = ip_version == 4;
    const Address source = is_ipv4 ? ipv4_at(header, kSourceAt) : address_at(header, kSourceAt);
    const Address destination =
        is_ipv4 ? ipv4_at(header, kDestinationAt) : address_at(header, kDestinationAt);
    if (local != source || remote != destination) {
      complain(Rule::kCmAddresses,
               fmt::format("addresses {} and {}, as the GIDs say", to_string(local), to_string(remote)),
               fmt::format("{} and {}", to_string(source), to_string(destination)));
    }
  }

  void judge_reason(const CmMessage& message) {
    // Read in Linux: rdma/ib_cm.h has reasons 1 to 33 and 35, and statuses 0 to 5.
    if (message.kind == CmKind::kReject) {
      const bool is_known = (message.reason >= 1 && message.reason <= 33) || message.reason == 35;
      if (!is_known) complain(Rule::kCmReason, "a reason that exists", std::to_string(message.reason));
    } else if (message.reason > 5) {
      complain(Rule::kCmReason, "a status from 0 to 5", std::to_string(message.reason));
    }
  }

  const Seen& seen_;
  ByteView bytes_;
  std::uint32_t flow_;
  Findings& findings_;
};

}  // namespace

void check_cm_form(const Seen& seen, std::uint32_t flow, Findings& findings) {
  FormJudge(seen, flow, findings).judge();
}

}  // namespace urnic::check
