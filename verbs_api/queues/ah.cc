// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/ah.h"

#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "transport/wire/encapsulation.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/sanitizer/checks/attribute_checks.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

using transport::AddressHandleId;

int Ah::make(const nic::AddressVector& address) {
  const auto made = Context::of(context).nic().create_address_handle(*Pd::of(pd).inner, address);
  if (!made) return explain("create_ah", made.error());
  id_ = made.value();
  return 0;
}

void Ah::end() {
  if (id_ == AddressHandleId{}) return;
  const auto destroyed = Context::of(context).nic().destroy_address_handle(*Pd::of(pd).inner, id_);
  id_ = AddressHandleId{};
  if (!destroyed) explain("destroy_ah", destroyed.error());
}

namespace {

using transport::wire::Encapsulation;
using transport::wire::Gid;

/// The sender and the receiver of a packet, as its 40-byte header area tells.
struct Origin {
  Gid source;
  Gid destination;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  Encapsulation encapsulation = Encapsulation::kRoceV2;
};

/// An IPv4 header stands in bytes 20..39 and is known by its checksum; otherwise all 40 bytes are an IPv6
/// header (fact 42) or a GRH, whose next header names the BTH. The length fields in there are not ours to
/// check: the payload is elsewhere.
std::optional<Origin> origin_of(const ibv_grh& area) {
  using transport::wire::InternetChecksum;
  using transport::wire::Ipv4Address;

  const std::span<const std::byte> bytes = std::as_bytes(std::span(&area, 1));
  const std::span<const std::byte> ipv4 = bytes.last(transport::wire::Ipv4::kMinBytes);
  const auto octet = [](std::byte value) { return std::to_integer<std::uint8_t>(value); };

  InternetChecksum checksum;
  checksum.add(ipv4);
  constexpr std::uint8_t kVersion4AndFiveWords = 0x45;
  if (octet(ipv4[0]) == kVersion4AndFiveWords && checksum.is_right()) {
    Ipv4Address source;
    Ipv4Address destination;
    for (std::size_t i = 0; i < Ipv4Address::kBytes; ++i) {
      source.octets[i] = octet(ipv4[12 + i]);
      destination.octets[i] = octet(ipv4[16 + i]);
    }
    return Origin{.source = Gid::from_ipv4(source),
                  .destination = Gid::from_ipv4(destination),
                  .traffic_class = octet(ipv4[1])};
  }

  constexpr unsigned int kVersionShift = 4;
  constexpr std::uint8_t kVersion6 = 6;
  if (octet(bytes[0]) >> kVersionShift != kVersion6) return std::nullopt;
  const std::uint32_t first_word = be32toh(area.version_tclass_flow);
  const bool is_roce_v1 = area.next_hdr == transport::to_integer(transport::wire::IpProtocol::kBth);
  return Origin{.source = to_gid(area.sgid),
                .destination = to_gid(area.dgid),
                .traffic_class = static_cast<std::uint8_t>(first_word >> 20),
                .flow_label = first_word & 0xfffff,
                .encapsulation = is_roce_v1 ? Encapsulation::kRoceV1 : Encapsulation::kRoceV2};
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::Ah;
using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::kPort;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::origin_of;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (const int error = injected_error(Verb::kCreateAh); error != 0) return fail(error);
  if (const int fault = objects().check(pd); fault != 0) return fail(fault);
  Context& owner = Context::of(pd->context);
  if (owner.ledgers() != nullptr) {
    urnic::verbs_api::check_address(urnic::verbs_api::sanitizer(), "address handle", *attr,
                                    {.source = owner.nic().gids().at(attr->grh.sgid_index)});
  }
  const auto address = urnic::verbs_api::to_address_vector(*attr);
  if (!address) return fail(explain("create_ah", address.error()));
  return or_out_of_memory([&]() -> ibv_ah* {
    auto created = std::make_unique<Ah>(*pd);
    if (const int error = created->make(address.value()); error != 0) return fail(error);
    if (owner.nic().is_started()) {
      // As in the kernel, the peer's MAC is known when this returns: programs count on their first datagram
      // leaving when it is posted. But the kernel refuses a handle that cannot be resolved, with ETIMEDOUT.
      // Here a peer's NIC starts and ends with its program, so it is no error when the peer cannot be found
      // yet: what is sent to it waits for ARP, and is lost if ARP gets no answer.
      owner.nic().resolve(address.value());
    }
    objects().add(created.get());
    return created.release();
  });
}

int ibv_destroy_ah(ibv_ah* ah) {
  if (const int error = injected_error(Verb::kDestroyAh); error != 0) return refuse(error);
  ObjectClaim claim(ah);
  if (claim.error() != 0) return refuse(claim.error());
  if (const auto* const ledgers = Context::of(ah->context).ledgers()) ledgers->check_destroy(Ah::of(ah).id());
  Ah::of(ah).end();
  claim.take_out();
  delete &Ah::of(ah);
  return 0;
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port_num, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* ah_attr) {
  if (port_num != kPort || (wc->wc_flags & IBV_WC_GRH) == 0) {
    return refuse(EINVAL);  // without the header the sender is not known
  }
  const auto origin = origin_of(*grh);
  if (!origin) return refuse(EBADMSG);
  const auto own_index =
      Context::of(context).nic().gids().index_of(origin->destination, origin->encapsulation);
  if (!own_index) return refuse(EINVAL);
  *ah_attr = urnic::verbs_api::to_ah_attributes({.destination = origin->source,
                                                 .source_gid_index = *own_index,
                                                 .traffic_class = origin->traffic_class,
                                                 .service_level = wc->sl,
                                                 .flow_label = origin->flow_label});
  ah_attr->dlid = wc->slid;
  ah_attr->src_path_bits = wc->dlid_path_bits;
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port_num) {
  if (const int error = injected_error(Verb::kCreateAhFromWc); error != 0) return fail(error);
  if (const int fault = objects().check(pd); fault != 0) return fail(fault);
  ibv_ah_attr attributes{};
  if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

// For drivers that resolve addresses themselves; ours are resolved by ibv_create_ah().
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, uint8_t*, uint16_t*) {
  return refuse(EOPNOTSUPP);
}

}  // extern "C"
