// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/gid_table.h"

#include <algorithm>
#include <span>

#include "transport/wire/byte_order.h"

namespace urnic::nic {

using transport::wire::Gid;
using transport::wire::Ipv6Address;

namespace {

constexpr std::size_t kLinkLocalIndex = 0;
constexpr std::size_t kIpv4Index = 1;
constexpr std::size_t kIpv6Index = 2;

std::size_t usual_index_of(const Gid& gid) {
  if (gid.is_ipv4_mapped()) return kIpv4Index;
  return gid.is_link_local() ? kLinkLocalIndex : kIpv6Index;
}

}  // namespace

GidTable::GidTable(const DeviceConfig& config) : size_(kIpv6Index + 1) {
  const Ipv6Address made = Ipv6Address::link_local_from_mac(config.mac);
  node_guid_ = transport::wire::load_u64(std::as_bytes(std::span(made.octets)), 8);
  if (config.medium == Medium::kIp) {
    if (!config.host_addresses.empty()) first_interface_ = config.host_addresses.front().interface;
    update(config.host_addresses);
    return;
  }
  put(entries_[kLinkLocalIndex], {.gid = made});
  if (config.ipv4) put(entries_[kIpv4Index], {.gid = Ipv6Address::from_ipv4(config.ipv4->address)});
  if (config.ipv6) put(entries_[kIpv6Index], {.gid = config.ipv6->address});
}

void GidTable::put(Entry& entry, const HostAddress& address) {
  entry.address = address;
  entry.is_present.store(true, std::memory_order_release);
}

GidTable::Update GidTable::update(const std::vector<HostAddress>& all) {
  Update update;
  const auto is_same = [](const HostAddress& one, const HostAddress& other) {
    return one.gid == other.gid && one.interface == other.interface;
  };
  for (Entry& entry : entries_) {
    const auto found = std::ranges::find_if(
        all, [&](const HostAddress& address) { return is_same(address, entry.address); });
    const bool is_there = found != all.end();
    update.has_changed |= entry.is_present.exchange(is_there, std::memory_order_acq_rel) != is_there;
    if (!is_there || found->mac == entry.address.mac) continue;
    entry.address.mac = found->mac;
    update.moved.push_back(found->gid);
  }
  for (const HostAddress& address : all) {
    const bool is_known =
        std::ranges::any_of(entries_, [&](const Entry& entry) { return is_same(address, entry.address); });
    if (!is_known) update.has_changed |= add(address);
  }
  // Programs take index 0 when they are told none.
  Entry& first = entries_[kLinkLocalIndex];
  if (first.address.gid.is_unspecified()) {
    const Entry* const other = present(kIpv4Index) != nullptr ? present(kIpv4Index) : present(kIpv6Index);
    if (other != nullptr) put(first, other->address);
  }
  return update;
}

/// At its usual index, or else the next one; whether there is room.
bool GidTable::add(const HostAddress& address) {
  Entry& usual = entries_[usual_index_of(address.gid)];
  if (address.interface == first_interface_ && usual.address.gid.is_unspecified()) {
    put(usual, address);
    return true;
  }
  const std::size_t next = size_.load(std::memory_order_relaxed);
  if (next == kEntries) return false;
  put(entries_[next], address);
  size_.store(next + 1, std::memory_order_release);
  return true;
}

/// Null for one that is not there.
const GidTable::Entry* GidTable::present(std::size_t index) const {
  if (index >= kEntries || !entries_[index].is_present.load(std::memory_order_acquire)) return nullptr;
  return &entries_[index];
}

std::optional<Gid> GidTable::at(std::size_t index) const {
  const Entry* const entry = present(index);
  return entry != nullptr ? std::optional(entry->address.gid) : std::nullopt;
}

std::optional<std::uint8_t> GidTable::index_of(const Gid& gid) const {
  for (std::size_t index = 0; index < size_.load(std::memory_order_acquire); ++index) {
    const Entry* const entry = present(index);
    if (entry != nullptr && entry->address.gid == gid) return static_cast<std::uint8_t>(index);
  }
  return std::nullopt;
}

bool GidTable::has_like(const Gid& other) const {
  for (std::size_t index = 0; index < size_.load(std::memory_order_acquire); ++index) {
    const Entry* const entry = present(index);
    if (entry != nullptr && entry->address.gid.is_ipv4_mapped() == other.is_ipv4_mapped()) return true;
  }
  return false;
}

std::string_view GidTable::interface_at(std::size_t index) const {
  const Entry* const entry = present(index);
  return entry != nullptr ? std::string_view(entry->address.interface) : std::string_view();
}

unsigned GidTable::interface_index_at(std::size_t index) const {
  const Entry* const entry = present(index);
  return entry != nullptr ? entry->address.interface_index : 0;
}

}  // namespace urnic::nic
