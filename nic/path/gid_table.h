// GidTable: the addresses of the port as verbs programs see them. All entries are RoCEv2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Index 0 is the link-local address (made from the MAC, unless the NIC has the host's addresses), 1 the IPv4 address, 2 the
/// IPv6 address; an address that was not given leaves its index empty (zero), as are all further ones. A host without a
/// link-local address has one of the others at index 0 again: programs take that index when they are told none.
class GidTable {
 public:
  static constexpr std::size_t kEntries = 16;

  explicit GidTable(const DeviceConfig& config);

  /// The entry, or nothing when the index is empty or beyond the table.
  std::optional<transport::wire::Gid> at(std::size_t index) const;
  /// The index of `gid`, or nothing.
  std::optional<std::uint8_t> index_of(const transport::wire::Gid& gid) const;
  /// Of the device: the EUI-64 of the MAC, which is the second half of the link-local address made from it.
  std::uint64_t node_guid() const { return node_guid_; }

  /// The network interface of the host that all entries are addresses of, and its index; empty and 0 without one.
  const std::string& net_device() const { return net_device_; }
  unsigned net_device_index() const { return net_device_index_; }

 private:
  std::array<transport::wire::Gid, kEntries> gids_{};
  std::uint64_t node_guid_;
  std::string net_device_;
  unsigned net_device_index_;
};

}  // namespace urnic::nic
