#include "nic/path/gid_table.h"

#include <algorithm>
#include <span>

#include "transport/wire/byte_order.h"

namespace urnic::nic {

using transport::wire::Gid;
using transport::wire::Ipv6Address;

GidTable::GidTable(const DeviceConfig& config)
    : net_device_(config.net_device), net_device_index_(config.net_device_index) {
  const Ipv6Address made = Ipv6Address::link_local_from_mac(config.mac);
  node_guid_ = transport::wire::load_u64(std::as_bytes(std::span(made.octets)), 8);
  if (config.ipv4) gids_[1] = Ipv6Address::from_ipv4(config.ipv4->address);
  if (config.ipv6) gids_[2] = config.ipv6->address;
  if (config.medium == Medium::kEthernet) {
    gids_[0] = made;
  } else {
    gids_[0] = config.link_local.value_or(config.ipv4 ? gids_[1] : gids_[2]);
  }
}

std::optional<Gid> GidTable::at(std::size_t index) const {
  if (index >= kEntries || gids_[index].is_unspecified()) return std::nullopt;
  return gids_[index];
}

std::optional<std::uint8_t> GidTable::index_of(const Gid& gid) const {
  if (gid.is_unspecified()) return std::nullopt;
  const auto found = std::find(gids_.begin(), gids_.end(), gid);
  if (found == gids_.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - gids_.begin());
}

}  // namespace urnic::nic
