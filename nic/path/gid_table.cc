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

GidTable::GidTable(const DeviceConfig& config) : entries_(kIpv6Index + 1) {
  const Ipv6Address made = Ipv6Address::link_local_from_mac(config.mac);
  node_guid_ = transport::wire::load_u64(std::as_bytes(std::span(made.octets)), 8);
  if (config.medium == Medium::kIp) {
    put_host_addresses(config.host_addresses);
    return;
  }
  entries_[kLinkLocalIndex].gid = made;
  if (config.ipv4) entries_[kIpv4Index].gid = Ipv6Address::from_ipv4(config.ipv4->address);
  if (config.ipv6) entries_[kIpv6Index].gid = config.ipv6->address;
}

void GidTable::put_host_addresses(const std::vector<HostAddress>& all) {
  for (const HostAddress& address : all) {
    HostAddress& usual = entries_[usual_index_of(address.gid)];
    const bool is_usual = address.interface == all.front().interface && usual.gid.is_unspecified();
    if (is_usual) {
      usual = address;
    } else if (entries_.size() < kEntries) {
      entries_.push_back(address);
    }
  }
  HostAddress& first = entries_[kLinkLocalIndex];
  if (first.gid.is_unspecified()) {
    first = entries_[entries_[kIpv4Index].gid.is_unspecified() ? kIpv6Index : kIpv4Index];
  }
}

std::optional<Gid> GidTable::at(std::size_t index) const {
  if (index >= entries_.size() || entries_[index].gid.is_unspecified()) return std::nullopt;
  return entries_[index].gid;
}

std::optional<std::uint8_t> GidTable::index_of(const Gid& gid) const {
  if (gid.is_unspecified()) return std::nullopt;
  const auto found = std::ranges::find(entries_, gid, &HostAddress::gid);
  if (found == entries_.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - entries_.begin());
}

bool GidTable::has_like(const Gid& other) const {
  return std::ranges::any_of(entries_, [&](const HostAddress& entry) {
    return !entry.gid.is_unspecified() && entry.gid.is_ipv4_mapped() == other.is_ipv4_mapped();
  });
}

std::string_view GidTable::interface_at(std::size_t index) const {
  return index < entries_.size() ? std::string_view(entries_[index].interface) : std::string_view();
}

unsigned GidTable::interface_index_at(std::size_t index) const {
  return index < entries_.size() ? entries_[index].interface_index : 0;
}

}  // namespace urnic::nic
