// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/layouts.h"

#include <algorithm>
#include <array>

#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/packets/opcode.h"

// Places are from IEEE 802.3 and 802.1Q, RFC 791, 8200 and 768, of tunnels from RFC 3032, 2784, 7348, 8926
// and draft-foschiano-erspan; the InfiniBand headers' places are from facts 3, 4, 12 and 44.
namespace urnic::view {
namespace {

constexpr std::array kEthernet{
    Field{"Destination MAC", 0, 48, "mac",
          "The station that the link brings the frame to: the peer's, or a router's"},
    Field{"Source MAC", 48, 48, "mac", "The station that sent it on this link"},
    Field{"EtherType", 96, 16, "ethertype", "What follows"},
};
constexpr std::array kVlan{
    Field{"Priority", 0, 3, "number", "Class of service on the link; lossless networks pause by it (PFC)"},
    Field{"Drop eligible", 3, 1, "flag", "May be dropped first when there is congestion"},
    Field{"VLAN", 4, 12, "number", "Number of the virtual network"},
    Field{"EtherType", 16, 16, "ethertype", "What follows"},
};
constexpr std::array kIpv4{
    Field{"Version", 0, 4, "number", "4"},
    Field{"Header length", 4, 4, "number", "In words of 4 bytes"},
    Field{"DSCP", 8, 6, "number", "Class of traffic. Routers may change it: the ICRC takes it for ones"},
    Field{"ECN", 14, 2, "ecn", "A congested switch writes 3 here, and the receiver then sends a CNP"},
    Field{"Total length", 16, 16, "number", "Bytes, this header included"},
    Field{"Identification", 32, 16, "hex", "Senders may count here; the ICRC covers it"},
    Field{"Flags", 48, 3, "ipflags", "RoCEv2 is sent with \"don't fragment\""},
    Field{"Fragment offset", 51, 13, "number", "0: RoCEv2 datagrams are never fragmented"},
    Field{"Time to live", 64, 8, "number", "Routers count it down: the ICRC takes it for ones"},
    Field{"Protocol", 72, 8, "protocol", "What follows"},
    Field{"Header checksum", 80, 16, "hex",
          "Of this header; changes on the way, and the ICRC takes it for ones"},
    Field{"Source", 96, 32, "ipv4", "Address of the sender: its GID is ::ffff:this"},
    Field{"Destination", 128, 32, "ipv4", "Address of the receiver"},
};
constexpr std::array kIpv6{
    Field{"Version", 0, 4, "number", "6"},
    Field{"DSCP", 4, 6, "number", "Class of traffic. Routers may change it: the ICRC takes it for ones"},
    Field{"ECN", 10, 2, "ecn", "A congested switch writes 3 here, and the receiver then sends a CNP"},
    Field{"Flow label", 12, 20, "hex", "Switches may choose a way by it; the ICRC takes it for ones"},
    Field{"Payload length", 32, 16, "number", "Bytes after this header"},
    Field{"Next header", 48, 8, "protocol", "What follows"},
    Field{"Hop limit", 56, 8, "number", "Routers count it down: the ICRC takes it for ones"},
    Field{"Source", 64, 128, "ipv6", "Address of the sender, which is its GID"},
    Field{"Destination", 192, 128, "ipv6", "Address of the receiver, which is its GID"},
};
constexpr std::array kUdp{
    Field{"Source port", 0, 16, "number",
          "Chosen by the sender, the same for one queue pair: switches spread flows by it"},
    Field{"Destination port", 16, 16, "udpport", "4791 says that a BTH follows"},
    Field{"Length", 32, 16, "number", "Bytes, this header included"},
    Field{"Checksum", 48, 16, "hex", "0: none, as the ICRC protects the packet. The ICRC takes it for ones"},
};
constexpr std::array kMplsLabel{
    Field{"Label", 0, 20, "number", "By it, routers of the path know where the packet goes"},
    Field{"Traffic class", 20, 3, "number", ""},
    Field{"Bottom of stack", 23, 1, "flag", "No further label follows"},
    Field{"Time to live", 24, 8, "number", ""},
};
constexpr std::array kGre{
    Field{"Checksum present", 0, 1, "flag", ""},
    Field{"Key present", 2, 1, "flag", ""},
    Field{"Sequence present", 3, 1, "flag", "With ERSPAN: type II or III"},
    Field{"Version", 13, 3, "number", "0"},
    Field{"Protocol type", 16, 16, "ethertype", "What is in the tunnel"},
};
constexpr std::array kErspan2{
    Field{"Version", 0, 4, "number", "1: type II"},
    Field{"VLAN", 4, 12, "number", "Of the frame that the mirror port saw"},
    Field{"Class of service", 16, 3, "number", ""},
    Field{"Encapsulation", 19, 2, "number", ""},
    Field{"Truncated", 21, 1, "flag", "The mirror sent a part of the frame only"},
    Field{"Session", 22, 10, "number", "Which mirror session of the switch it is"},
    Field{"Index", 44, 20, "hex", "The switch's port and direction"},
};
constexpr std::array kErspan3{
    Field{"Version", 0, 4, "number", "2: type III"},
    Field{"VLAN", 4, 12, "number", "Of the frame that the mirror port saw"},
    Field{"Class of service", 16, 3, "number", ""},
    Field{"Bad or short", 19, 2, "number", ""},
    Field{"Truncated", 21, 1, "flag", "The mirror sent a part of the frame only"},
    Field{"Session", 22, 10, "number", "Which mirror session of the switch it is"},
    Field{"Timestamp", 32, 32, "hex", "When the switch saw the frame, by its own clock"},
    Field{"Group tag", 64, 16, "hex", ""},
    Field{"Frame type", 81, 5, "number", "0: Ethernet, 2: IP"},
    Field{"Hardware", 86, 6, "number", ""},
    Field{"Direction", 92, 1, "flag", "0: coming in, 1: going out"},
    Field{"Granularity", 93, 2, "number", "Of the timestamp"},
    Field{"Subheader", 95, 1, "flag", "8 bytes follow that depend on the hardware"},
};
constexpr std::array kVxlan{
    Field{"Flags", 0, 8, "hex", "0x08: the network's number holds"},
    Field{"Network", 32, 24, "number", "Number of the virtual network (VNI)"},
};
constexpr std::array kGeneve{
    Field{"Version", 0, 2, "number", "0"},
    Field{"Options length", 2, 6, "number", "In words of 4 bytes; the options follow this header"},
    Field{"Protocol type", 16, 16, "ethertype", "What is in the tunnel"},
    Field{"Network", 32, 24, "number", "Number of the virtual network (VNI)"},
};
constexpr std::array kBth{
    Field{"Opcode", 0, 8, "opcode",
          "Service (upper three bits) and what the packet is; it tells which headers follow"},
    Field{"Solicited event", 8, 1, "flag",
          "The receiver's completion is to wake a program that waits for solicited ones only"},
    Field{"MigReq", 9, 1, "flag", "State of path migration; ConnectX sends 1, rdma_rxe 0"},
    Field{"Pad count", 10, 2, "number", "Bytes after the payload that fill it up to a multiple of 4"},
    Field{"Transport version", 12, 4, "number", "0"},
    Field{"P_Key", 16, 16, "hex", "Partition; 0xffff is the default one, with full membership"},
    Field{"FECN", 32, 1, "flag", "Congestion was met on the way; unused in RoCEv2, where ECN says so"},
    Field{"BECN", 33, 1, "flag", "Congestion is reported back: set in a CNP"},
    Field{"Reserved", 34, 6, "hex", "0; the ICRC takes the whole byte for ones"},
    Field{"Destination QP", 40, 24, "hex",
          "The receiver's queue pair. Which queue pair sent it is said nowhere: both ends know"},
    Field{"AckReq", 64, 1, "flag", "The requester wants an acknowledgement of this packet"},
    Field{"Reserved 2", 65, 7, "hex", "0"},
    Field{"PSN", 72, 24, "number",
          "Packet sequence number. Requests count one by one, modulo 2^24; an answer has its request's PSN"},
};
constexpr std::array kXrceth{
    Field{"Reserved", 0, 8, "hex", "0"},
    Field{"SRQ", 8, 24, "hex", "XRC: the shared receive queue that the message is for"},
};
constexpr std::array kDeth{
    Field{"Q_Key", 0, 32, "hex", "The receiver takes a datagram only with its own queue pair's Q_Key"},
    Field{"Reserved", 32, 8, "hex", "0"},
    Field{"Source QP", 40, 24, "hex", "Where an answer is to go to"},
};
constexpr std::array kFeth{
    Field{"Reserved", 0, 26, "hex", "0"},
    Field{"Selectivity", 26, 2, "number", "0: the range that RETH names, 1: the whole region"},
    Field{"Placement type", 28, 4, "number", "1: visible to all, 2: persistent"},
};
constexpr std::array kReth{
    Field{"Virtual address", 0, 64, "hex", "Where in the responder's memory the READ or WRITE begins"},
    Field{"R_Key", 64, 32, "hex",
          "The responder's key for that memory: without the right one the request is refused"},
    Field{"DMA length", 96, 32, "number", "Bytes of the whole message, not of this packet"},
};
constexpr std::array kAtomic{
    Field{"Virtual address", 0, 64, "hex", "Of the 8 bytes in the responder's memory; a multiple of 8"},
    Field{"R_Key", 64, 32, "hex", "The responder's key for that memory"},
    Field{"Swap or add", 96, 64, "hex", "What is written if the comparison holds, or added"},
    Field{"Compare", 160, 64, "hex", "What must be there for the swap; unused by FETCH ADD"},
};
constexpr std::array kAeth{
    Field{"Syndrome", 0, 8, "syndrome",
          "Acknowledged (and credits), receiver not ready (and for how long), or refused (and why)"},
    Field{"MSN", 8, 24, "number", "How many messages the responder has completed, modulo 2^24"},
};
constexpr std::array kAtomicAck{Field{"Original data", 0, 64, "hex", "What was in the 8 bytes before"}};
constexpr std::array kHeldPackets{
    Field{"Held 1 to 64", 0, 64, "hex",
          "Which packets after the PSN the responder has; of each byte the lowest bit is the first packet"},
    Field{"Held 65 to 128", 64, 64, "hex", ""},
    Field{"Held 129 to 192", 128, 64, "hex", ""},
    Field{"Held 193 to 256", 192, 64, "hex", ""},
};
constexpr std::array kImmediate{
    Field{"Immediate data", 0, 32, "hex", "Handed to the receiver's program with its completion"}};
constexpr std::array kIeth{Field{"R_Key", 0, 32, "hex", "The receiver invalidates this key of its own"}};
constexpr std::array kMad{
    Field{"Base version", 0, 8, "number", "1"},
    Field{"Class", 8, 8, "number", "7: communication management"},
    Field{"Class version", 16, 8, "number", "2"},
    Field{"Method", 24, 8, "number", "3: Send"},
    Field{"Status", 32, 16, "hex", ""},
    Field{"Class specific", 48, 16, "hex", ""},
    Field{"Transaction ID", 64, 64, "hex", "The same in a request and its answer"},
    Field{"Attribute ID", 128, 16, "cm", "Which message of the connection manager it is"},
    Field{"Reserved", 144, 16, "hex", "0"},
    Field{"Attribute modifier", 160, 32, "hex", "0"},
};

enum Which : std::size_t {
  kEthernetHeader,
  kVlanTag,
  kIpv4Header,
  kIpv6Header,
  kGrh,
  kUdpHeader,
  kBthHeader,
  kXrcethHeader,
  kDethHeader,
  kFethHeader,
  kRethHeader,
  kAethHeader,
  kAtomicHeader,
  kAtomicAckHeader,
  kImmediateHeader,
  kIethHeader,
  kMadHeader,
  kHeldHeader,
  kMplsHeader,
  kGreHeader,
  kErspan2Header,
  kErspan3Header,
  kVxlanHeader,
  kGeneveHeader
};
constexpr std::array kHeaders{
    Header{"Ethernet", 14, kEthernet},
    Header{"VLAN", 4, kVlan},
    Header{"IPv4", 20, kIpv4},
    Header{"IPv6", 40, kIpv6},
    Header{"GRH", 40, kIpv6},
    Header{"UDP", 8, kUdp},
    Header{"BTH", 12, kBth},
    Header{"XRCETH", 4, kXrceth},
    Header{"DETH", 8, kDeth},
    Header{"FETH", 4, kFeth},
    Header{"RETH", 16, kReth},
    Header{"AETH", 4, kAeth},
    Header{"AtomicETH", 28, kAtomic},
    Header{"AtomicAckETH", 8, kAtomicAck},
    Header{"ImmDt", 4, kImmediate},
    Header{"IETH", 4, kIeth},
    Header{"MAD", check::kMadHeaderBytes, kMad},
    Header{"Held packets", check::kSelectiveNakBytes, kHeldPackets},
    Header{"MPLS", 4, kMplsLabel},
    Header{"GRE", 4, kGre},
    Header{"ERSPAN II", 8, kErspan2},
    Header{"ERSPAN III", 12, kErspan3},
    Header{"VXLAN", 8, kVxlan},
    Header{"GENEVE", 8, kGeneve},
};

Which header_of(check::LayerKind kind) {
  switch (kind) {
    case check::LayerKind::kEthernet:
      return kEthernetHeader;
    case check::LayerKind::kVlan:
      return kVlanTag;
    case check::LayerKind::kMpls:
      return kMplsHeader;
    case check::LayerKind::kIpv4:
      return kIpv4Header;
    case check::LayerKind::kIpv6:
      return kIpv6Header;
    case check::LayerKind::kUdp:
      return kUdpHeader;
    case check::LayerKind::kGre:
      return kGreHeader;
    case check::LayerKind::kErspan2:
      return kErspan2Header;
    case check::LayerKind::kErspan3:
      return kErspan3Header;
    case check::LayerKind::kVxlan:
      return kVxlanHeader;
    case check::LayerKind::kGeneve:
      break;
  }
  return kGeneveHeader;
}

/// Puts headers one after the other.
class Placer {
 public:
  void put(Which which, std::size_t at) {
    layout_.push_back({.header = &kHeaders[which], .at = at});
    end_ = at + kHeaders[which].bytes;
  }
  void put_next(Which which) { put(which, end_); }
  void put_next_if(bool is_there, Which which) {
    if (is_there) put_next(which);
  }
  const Layout& layout() const { return layout_; }

 private:
  Layout layout_;
  std::size_t end_ = 0;
};

}  // namespace

std::span<const Header> all_headers() {
  return kHeaders;
}

std::size_t Layouts::index_of(const check::Frame& frame, const check::Packet& packet,
                              const check::Layers& outer, std::size_t ip_at) {
  Placer placer;
  for (const check::Layer& layer : outer.all()) placer.put(header_of(layer.kind), layer.at);
  placer.put(frame.is_roce_v1 ? kGrh : frame.is_ipv6 ? kIpv6Header : kIpv4Header, ip_at);
  const std::size_t behind_ip = ip_at + frame.ip_header.size() + frame.ip_extensions.size();
  if (!frame.is_roce_v1) placer.put(kUdpHeader, behind_ip);
  placer.put(kBthHeader, behind_ip + frame.udp_header.size());
  const check::OpcodeInfo& info = *packet.info;
  placer.put_next_if(info.has_xrceth, kXrcethHeader);
  placer.put_next_if(info.has_deth, kDethHeader);
  placer.put_next_if(info.has_feth, kFethHeader);
  placer.put_next_if(info.has_reth, kRethHeader);
  placer.put_next_if(info.has_aeth, kAethHeader);
  placer.put_next_if(info.has_atomic, kAtomicHeader);
  placer.put_next_if(info.has_atomic_ack, kAtomicAckHeader);
  placer.put_next_if(info.has_immediate, kImmediateHeader);
  placer.put_next_if(info.has_ieth, kIethHeader);
  placer.put_next_if(check::is_cm(packet), kMadHeader);
  placer.put_next_if(info.operation == check::Operation::kSelectiveNak, kHeldHeader);
  const auto [place, is_new] = known_.emplace(placer.layout(), all_.size());
  if (is_new) all_.push_back(placer.layout());
  return place->second;
}

}  // namespace urnic::view
