// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/gid_table.h"

#include <algorithm>
#include <span>

#include "transport/wire/byte_order.h"

namespace urnic::nic {

using transport::wire::Encapsulation;
using transport::wire::Gid;
using transport::wire::Ipv6Address;

namespace {

std::size_t usual_place_of(const Gid& gid) {
  if (gid.is_ipv4_mapped()) return GidTable::kIpv4;
  return gid.is_link_local() ? GidTable::kLinkLocal : GidTable::kIpv6;
}

}  // namespace

GidTable::Layout GidTable::layout_of(GidEntries entries) {
  switch (entries) {
    case GidEntries::kRoceV2:
      break;
    case GidEntries::kPairs:
      return {.step = 2, .forms = {Encapsulation::kRoceV1, Encapsulation::kRoceV2}};
    case GidEntries::kScattered:
      return {.first = 4, .step = 2, .forms = {Encapsulation::kRoceV2}};
  }
  return {.forms = {Encapsulation::kRoceV2}};
}

GidTable::GidTable(const DeviceConfig& config)
    : address_count_(kIpv6 + 1),
      size_(config.personality->gid_tbl_len),
      layout_(layout_of(config.personality->gid_entries)),
      most_addresses_((size_ - layout_.first) / layout_.step),
      has_roce_v1_(config.medium == Medium::kEthernet &&
                   std::find(layout_.forms.begin(), layout_.forms.end(), Encapsulation::kRoceV1) !=
                       layout_.forms.end()) {
  const Ipv6Address made = Ipv6Address::link_local_from_mac(config.mac);
  node_guid_ = transport::wire::load_u64(std::as_bytes(std::span(made.octets)), 8);
  if (config.medium == Medium::kIp) {
    if (!config.host_addresses.empty()) first_interface_ = config.host_addresses.front().interface;
    update(config.host_addresses);
    return;
  }
  put(addresses_[kLinkLocal], {.gid = made});
  if (config.ipv4) put(addresses_[kIpv4], {.gid = Ipv6Address::from_ipv4(config.ipv4->address)});
  if (config.ipv6) put(addresses_[kIpv6], {.gid = config.ipv6->address});
}

void GidTable::put(Address& place, const HostAddress& address) {
  place.address = address;
  place.is_present.store(true, std::memory_order_release);
}

GidTable::Update GidTable::update(const std::vector<HostAddress>& all) {
  Update update;
  const auto is_same = [](const HostAddress& one, const HostAddress& other) {
    return one.gid == other.gid && one.interface == other.interface;
  };
  for (Address& place : addresses_) {
    const auto found = std::ranges::find_if(
        all, [&](const HostAddress& address) { return is_same(address, place.address); });
    const bool is_there = found != all.end();
    update.has_changed |= place.is_present.exchange(is_there, std::memory_order_acq_rel) != is_there;
    if (!is_there || found->mac == place.address.mac) continue;
    place.address.mac = found->mac;
    update.moved.push_back(found->gid);
  }
  for (const HostAddress& address : all) {
    const bool is_known = std::ranges::any_of(
        addresses_, [&](const Address& place) { return is_same(address, place.address); });
    if (!is_known) update.has_changed |= add(address);
  }
  // Programs take the first entry when they are told none.
  Address& first = addresses_[kLinkLocal];
  if (first.address.gid.is_unspecified()) {
    const Address* const other = present(kIpv4) != nullptr ? present(kIpv4) : present(kIpv6);
    if (other != nullptr) put(first, other->address);
  }
  return update;
}

/// At its usual place, or else the next one; whether there is room.
bool GidTable::add(const HostAddress& address) {
  Address& usual = addresses_[usual_place_of(address.gid)];
  if (address.interface == first_interface_ && usual.address.gid.is_unspecified()) {
    put(usual, address);
    return true;
  }
  const std::size_t next = address_count_.load(std::memory_order_relaxed);
  if (next >= most_addresses_) return false;
  put(addresses_[next], address);
  address_count_.store(next + 1, std::memory_order_release);
  return true;
}

/// Null for one that is not there.
const GidTable::Address* GidTable::present(std::size_t place) const {
  if (place >= addresses_.size() || !addresses_[place].is_present.load(std::memory_order_acquire)) {
    return nullptr;
  }
  return &addresses_[place];
}

std::optional<std::size_t> GidTable::place_of(const Gid& gid) const {
  for (std::size_t place = 0; place < address_count(); ++place) {
    const Address* const address = present(place);
    if (address != nullptr && address->address.gid == gid) return place;
  }
  return std::nullopt;
}

std::optional<Gid> GidTable::address_at(std::size_t place) const {
  const Address* const address = present(place);
  return address != nullptr ? std::optional(address->address.gid) : std::nullopt;
}

/// Of which kind an entry at that index is, whether or not there is one.
std::optional<Encapsulation> GidTable::form_of(std::size_t index) const {
  if (index < layout_.first || index >= size_) return std::nullopt;
  return layout_.forms[(index - layout_.first) % layout_.step];
}

/// Nothing for an empty index.
std::optional<GidTable::Spot> GidTable::spot_at(std::size_t index) const {
  const std::optional<Encapsulation> form = form_of(index);
  if (!form || (*form == Encapsulation::kRoceV1 && !has_roce_v1_)) return std::nullopt;
  const Address* const address = present((index - layout_.first) / layout_.step);
  if (address == nullptr) return std::nullopt;
  return Spot{.address = address, .encapsulation = *form};
}

bool GidTable::would_be_roce_v1(std::size_t index) const {
  const bool is_v1 = !has_roce_v1_ && form_of(index) == Encapsulation::kRoceV1;
  return is_v1 && present((index - layout_.first) / layout_.step) != nullptr;
}

std::optional<GidEntry> GidTable::entry_at(std::size_t index) const {
  const auto spot = spot_at(index);
  if (!spot) return std::nullopt;
  return GidEntry{.gid = spot->address->address.gid, .encapsulation = spot->encapsulation};
}

std::optional<Gid> GidTable::at(std::size_t index) const {
  const auto spot = spot_at(index);
  return spot ? std::optional(spot->address->address.gid) : std::nullopt;
}

std::optional<std::uint8_t> GidTable::index_of(const Gid& gid, Encapsulation encapsulation) const {
  if (encapsulation == Encapsulation::kRoceV1 && !has_roce_v1_) return std::nullopt;
  const auto place = place_of(gid);
  const auto* const form = std::find(layout_.forms.begin(), layout_.forms.end(), encapsulation);
  if (!place || form == layout_.forms.end()) return std::nullopt;
  const auto offset = static_cast<std::size_t>(form - layout_.forms.begin());
  return static_cast<std::uint8_t>(layout_.first + *place * layout_.step + offset);
}

bool GidTable::has_like(const Gid& other) const {
  for (std::size_t place = 0; place < address_count(); ++place) {
    const Address* const address = present(place);
    if (address != nullptr && address->address.gid.is_ipv4_mapped() == other.is_ipv4_mapped()) return true;
  }
  return false;
}

std::string_view GidTable::interface_at(std::size_t index) const {
  const auto spot = spot_at(index);
  return spot ? std::string_view(spot->address->address.interface) : std::string_view();
}

unsigned GidTable::interface_index_at(std::size_t index) const {
  const auto spot = spot_at(index);
  return spot ? spot->address->address.interface_index : 0;
}

}  // namespace urnic::nic
