// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/flow/flow_attributes.h"

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "nic/errors.h"
#include "transport/types.h"
#include "verbs_api/abi/untrusted_enum.h"

namespace urnic::verbs_api {
namespace {

using nic::FlowKind;
using nic::invalid;
using nic::Masked;
using nic::not_offered;

using Fault = std::optional<Error>;

// --- Fields: a value and a mask in the order of the network ---

Masked<std::uint16_t> masked_16(std::uint16_t value, std::uint16_t mask) {
  return {.value = be16toh(value), .mask = be16toh(mask)};
}

Masked<std::uint32_t> masked_32(std::uint32_t value, std::uint32_t mask) {
  return {.value = be32toh(value), .mask = be32toh(mask)};
}

template <typename Address, typename Field>
Masked<Address> masked_address(const Field& value, const Field& mask) {
  static_assert(sizeof(Field) == Address::kBytes);
  Masked<Address> result;
  std::memcpy(result.value.octets.data(), &value, sizeof(Field));
  std::memcpy(result.mask.octets.data(), &mask, sizeof(Field));
  return result;
}

// --- Specifications ---

/// A copy, as the program's need not be aligned.
template <typename Spec>
Spec load(const std::byte* at) {
  Spec spec;
  std::memcpy(&spec, at, sizeof(spec));
  return spec;
}

Fault read_ethernet(const std::byte* at, FlowWish& wish) {
  using transport::wire::Mac;
  const auto spec = load<ibv_flow_spec_eth>(at);
  wish.rule.ethernet = {.source = masked_address<Mac>(spec.val.src_mac, spec.mask.src_mac),
                        .destination = masked_address<Mac>(spec.val.dst_mac, spec.mask.dst_mac),
                        .ether_type = masked_16(spec.val.ether_type, spec.mask.ether_type),
                        .vlan_tag = masked_16(spec.val.vlan_tag, spec.mask.vlan_tag)};
  return std::nullopt;
}

Fault read_ipv4(const std::byte* at, FlowWish& wish) {
  using transport::wire::Ipv4Address;
  const auto spec = load<ibv_flow_spec_ipv4>(at);
  wish.rule.ipv4 = {.source = masked_address<Ipv4Address>(spec.val.src_ip, spec.mask.src_ip),
                    .destination = masked_address<Ipv4Address>(spec.val.dst_ip, spec.mask.dst_ip)};
  return std::nullopt;
}

// The kernel numbers "don't fragment" as the header does, and "more fragments" differently (ib_ipv4_flags in
// its rdma/ib_verbs.h): a program can only ask for the one that has one meaning.
Fault read_extended_ipv4(const std::byte* at, FlowWish& wish) {
  using transport::wire::Ipv4Address;
  constexpr std::uint8_t kDontFragment = 2;
  const auto spec = load<ibv_flow_spec_ipv4_ext>(at);
  if ((spec.mask.flags & ~kDontFragment) != 0) {
    return not_offered("of the flags of IPv4 a flow rule can name \"don't fragment\" (2)");
  }
  wish.rule.ipv4 = {.source = masked_address<Ipv4Address>(spec.val.src_ip, spec.mask.src_ip),
                    .destination = masked_address<Ipv4Address>(spec.val.dst_ip, spec.mask.dst_ip),
                    .protocol = {.value = spec.val.proto, .mask = spec.mask.proto},
                    .tos = {.value = spec.val.tos, .mask = spec.mask.tos},
                    .ttl = {.value = spec.val.ttl, .mask = spec.mask.ttl},
                    .flags = {.value = spec.val.flags, .mask = spec.mask.flags}};
  return std::nullopt;
}

Fault read_ipv6(const std::byte* at, FlowWish& wish) {
  using transport::wire::Ipv6Address;
  constexpr std::uint32_t kMaxFlowLabel = 0xfffff;
  const auto spec = load<ibv_flow_spec_ipv6>(at);
  const auto flow_label = masked_32(spec.val.flow_label, spec.mask.flow_label);
  if (flow_label.value > kMaxFlowLabel || flow_label.mask > kMaxFlowLabel) {
    return invalid("an IPv6 flow label has 20 bits");
  }
  wish.rule.ipv6 = {.source = masked_address<Ipv6Address>(spec.val.src_ip, spec.mask.src_ip),
                    .destination = masked_address<Ipv6Address>(spec.val.dst_ip, spec.mask.dst_ip),
                    .flow_label = flow_label,
                    .next_header = {.value = spec.val.next_hdr, .mask = spec.mask.next_hdr},
                    .traffic_class = {.value = spec.val.traffic_class, .mask = spec.mask.traffic_class},
                    .hop_limit = {.value = spec.val.hop_limit, .mask = spec.mask.hop_limit}};
  return std::nullopt;
}

template <nic::PortProtocol kProtocol>
Fault read_ports(const std::byte* at, FlowWish& wish) {
  const auto spec = load<ibv_flow_spec_tcp_udp>(at);
  wish.rule.ports = {.protocol = kProtocol,
                     .source = masked_16(spec.val.src_port, spec.mask.src_port),
                     .destination = masked_16(spec.val.dst_port, spec.mask.dst_port)};
  return std::nullopt;
}

Fault read_count(const std::byte* at, FlowWish& wish) {
  wish.counters = load<ibv_flow_spec_counter_action>(at).counters;
  return wish.counters != nullptr ? Fault() : invalid("a flow rule counts nowhere");
}

/// What may be specified once.
enum class Layer : std::uint8_t { kLink = 1, kNetwork = 2, kTransport = 4, kCount = 8 };
/// So many layers a header can have, and so many specifications are read of attributes whose size covers
/// none.
constexpr unsigned kHeaderLayers = 3;

struct SpecKind {
  std::uint32_t type;
  std::uint16_t size;
  Layer layer;
  Fault (*read)(const std::byte* at, FlowWish& wish);
};

constexpr SpecKind kSpecKinds[] = {
    {IBV_FLOW_SPEC_ETH, sizeof(ibv_flow_spec_eth), Layer::kLink, read_ethernet},
    {IBV_FLOW_SPEC_IPV4, sizeof(ibv_flow_spec_ipv4), Layer::kNetwork, read_ipv4},
    {IBV_FLOW_SPEC_IPV4_EXT, sizeof(ibv_flow_spec_ipv4_ext), Layer::kNetwork, read_extended_ipv4},
    {IBV_FLOW_SPEC_IPV6, sizeof(ibv_flow_spec_ipv6), Layer::kNetwork, read_ipv6},
    {IBV_FLOW_SPEC_TCP, sizeof(ibv_flow_spec_tcp_udp), Layer::kTransport,
     read_ports<nic::PortProtocol::kTcp>},
    {IBV_FLOW_SPEC_UDP, sizeof(ibv_flow_spec_tcp_udp), Layer::kTransport,
     read_ports<nic::PortProtocol::kUdp>},
    {IBV_FLOW_SPEC_ACTION_COUNT, sizeof(ibv_flow_spec_counter_action), Layer::kCount, read_count},
};

constexpr std::uint32_t kOtherSpecs[] = {
    IBV_FLOW_SPEC_ESP,        IBV_FLOW_SPEC_VXLAN_TUNNEL, IBV_FLOW_SPEC_GRE,           IBV_FLOW_SPEC_MPLS,
    IBV_FLOW_SPEC_ACTION_TAG, IBV_FLOW_SPEC_ACTION_DROP,  IBV_FLOW_SPEC_ACTION_HANDLE,
};

const SpecKind* find_kind(std::uint32_t type) {
  for (const SpecKind& kind : kSpecKinds) {
    if (kind.type == type) return &kind;
  }
  return nullptr;
}

/// Why there is no such specification.
Error refusal_of(std::uint32_t type) {
  const std::uint32_t outer = type & ~std::uint32_t{IBV_FLOW_SPEC_INNER};
  bool is_known = find_kind(outer) != nullptr;
  for (const std::uint32_t other : kOtherSpecs) is_known = is_known || other == outer;
  return is_known ? not_offered(
                        "flow rules know neither tunnels and what is in them, ESP and MPLS, nor actions but "
                        "counting")
                  : invalid("a flow specification of an unknown type");
}

/// What every specification begins with.
struct SpecHeader {
  std::uint32_t type;
  std::uint16_t size;
};
static_assert(offsetof(ibv_flow_spec, hdr.size) == offsetof(SpecHeader, size));

Fault read_specs(const ibv_flow_attr& attributes, FlowWish& wish) {
  const bool is_bounded = attributes.size > sizeof(attributes);
  std::size_t left =
      is_bounded ? attributes.size - sizeof(attributes) : std::numeric_limits<std::size_t>::max();
  const std::byte* at = reinterpret_cast<const std::byte*>(&attributes) + sizeof(attributes);
  unsigned layers = 0;
  for (unsigned i = 0; i < attributes.num_of_specs; ++i) {
    if (!is_bounded && i == kHeaderLayers) {
      return invalid(
          "there are more flow specifications than layers, and the attributes' size does not cover them");
    }
    if (left < sizeof(SpecHeader)) {
      return invalid("the flow attributes' size does not cover their specifications");
    }
    const auto header = load<SpecHeader>(at);
    const SpecKind* const kind = find_kind(header.type);
    if (kind == nullptr) return refusal_of(header.type);
    if (header.size != kind->size || left < kind->size) {
      return invalid(
          "a flow specification's size does not fit its type, or goes beyond the attributes' size");
    }
    const unsigned layer = transport::to_integer(kind->layer);
    if ((layers & layer) != 0) return invalid("two flow specifications are of the same layer");
    if (auto fault = kind->read(at, wish)) return fault;
    layers |= layer;
    at += kind->size;
    left -= kind->size;
  }
  return std::nullopt;
}

// --- The attributes in front of them ---

std::optional<FlowKind> to_kind(const ibv_flow_attr_type& type) {
  switch (number_in(type)) {
    case IBV_FLOW_ATTR_NORMAL:
      return FlowKind::kNormal;
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      return FlowKind::kAllDefault;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      return FlowKind::kMulticastDefault;
    case IBV_FLOW_ATTR_SNIFFER:
      return FlowKind::kSniffer;
    default:
      return std::nullopt;
  }
}

Fault find_fault(const ibv_flow_attr& attributes) {
  constexpr std::uint32_t kKnownFlags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
  constexpr std::uint8_t kMostSpecs = 10;  // as the kernel's (IB_FLOW_SPEC_SUPPORT_LAYERS)
  constexpr std::uint8_t kPort = 1;

  if (attributes.comp_mask != 0 || (attributes.flags & ~kKnownFlags) != 0) {
    return invalid("flow attributes with an unknown comp_mask or unknown flags");
  }
  if (!to_kind(attributes.type)) return invalid("a flow rule of an unknown type");
  if (attributes.size != 0 && attributes.size < sizeof(attributes)) {
    return invalid("the flow attributes' size is less than the struct's");
  }
  if (attributes.port != kPort) return invalid("the device has one port, number 1");
  if ((attributes.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) {
    return not_offered("flow rules are for what is received");
  }
  if (attributes.num_of_specs > kMostSpecs) return invalid("there are more flow specifications than layers");
  const bool is_plain = attributes.flags == 0 && attributes.num_of_specs == 0;
  if (number_in(attributes.type) != IBV_FLOW_ATTR_NORMAL && !is_plain) {
    return invalid("only normal flow rules have flags and specifications");
  }
  return std::nullopt;
}

}  // namespace

Result<FlowWish, Error> to_flow_rule(const ibv_flow_attr& attributes) {
  if (auto fault = find_fault(attributes)) return *std::move(fault);
  FlowWish wish{.rule = {.kind = to_kind(attributes.type).value(),
                         .priority = attributes.priority,
                         .traps = (attributes.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) == 0}};
  if (auto fault = read_specs(attributes, wish)) return *std::move(fault);
  return wish;
}

}  // namespace urnic::verbs_api
