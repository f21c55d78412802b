// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GidTable: the addresses of the port as verbs programs see them. All entries are RoCEv2.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Index 0 is the link-local address, 1 the IPv4 address, 2 the IPv6 address; an address that was not given
/// leaves its index empty (zero). A NIC with addresses of its own has made the link-local one from its MAC,
/// and has no others. A NIC with the host's addresses has one interface's addresses there, and all others
/// after them. Without a link-local address it repeats one of the others at index 0: programs take that index
/// when they are told none.
///
/// The host's addresses come and go. The index of one that goes is empty until that address returns: an index
/// that was used never names another address. One that comes gets its usual index where that was never used,
/// or else the next one. Any thread may ask while one changes the table.
class GidTable {
 public:
  static constexpr std::size_t kEntries = 64;

  explicit GidTable(const DeviceConfig& config);

  struct Update {
    bool has_changed = false;                   ///< the table
    std::vector<transport::wire::Gid> moved{};  ///< addresses whose interface has another MAC than before
  };
  /// The host has these addresses now.
  Update update(const std::vector<HostAddress>& all);

  /// The entry, or nothing when the index is empty or beyond the table.
  std::optional<transport::wire::Gid> at(std::size_t index) const;
  /// The index of `gid`, or nothing.
  std::optional<std::uint8_t> index_of(const transport::wire::Gid& gid) const;
  /// Whether there is an address of the same kind as `other`, IPv4 or IPv6.
  bool has_like(const transport::wire::Gid& other) const;
  /// Of the device: the EUI-64 of the MAC, which is the second half of the link-local address made from it.
  std::uint64_t node_guid() const { return node_guid_; }

  /// The network interface of the host that has the address at that index, and its index; empty and 0 without
  /// one.
  std::string_view interface_at(std::size_t index) const;
  unsigned interface_index_at(std::size_t index) const;

 private:
  struct Entry {
    HostAddress address{};                ///< never another one, once there was one
    std::atomic<bool> is_present{false};  ///< set after the address
  };

  bool add(const HostAddress& address);
  static void put(Entry& entry, const HostAddress& address);
  const Entry* present(std::size_t index) const;

  std::array<Entry, kEntries> entries_;
  std::atomic<std::size_t> size_{0};  // entries in use, or left empty before others
  std::string first_interface_;       // of the host's, whose addresses have the usual indices
  std::uint64_t node_guid_;
};

}  // namespace urnic::nic
