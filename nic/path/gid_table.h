// GidTable: the addresses of the port as verbs programs see them. All entries are RoCEv2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Index 0 is the link-local address made from the MAC, 1 the IPv4 address, 2 the IPv6 address; an address
/// that was not given leaves its index empty (zero), as are all further ones.
class GidTable {
 public:
  static constexpr std::size_t kEntries = 16;

  explicit GidTable(const DeviceConfig& config);

  /// The entry, or nothing when the index is empty or beyond the table.
  std::optional<transport::wire::Gid> at(std::size_t index) const;
  /// The index of `gid`, or nothing.
  std::optional<std::uint8_t> index_of(const transport::wire::Gid& gid) const;
  /// Of the device: the EUI-64 of the MAC, which is the second half of the link-local address.
  std::uint64_t node_guid() const;

 private:
  std::array<transport::wire::Gid, kEntries> gids_{};
};

}  // namespace urnic::nic
