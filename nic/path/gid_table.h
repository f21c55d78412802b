// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GidTable: the addresses of the port as verbs programs see them.
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
#include "transport/wire/encapsulation.h"

namespace urnic::nic {

/// An address of ours, and how frames carry what is sent from it.
struct GidEntry {
  transport::wire::Gid gid{};
  transport::wire::Encapsulation encapsulation = transport::wire::Encapsulation::kRoceV2;
};

/// A table of addresses, and one of entries, which programs see: an address has an entry for each
/// encapsulation that the personality offers, and the personality says at which indices. Without one the two
/// tables are the same.
///
/// Address 0 is the link-local one, 1 the IPv4 address, 2 the IPv6 address; one that was not given leaves
/// its place empty. A NIC with addresses of its own has made the link-local one from its MAC, and has no
/// others. A NIC with the host's addresses has one interface's addresses there, and all others after them.
/// Without a link-local address it repeats one of the others as address 0: programs take the first entry when
/// they are told none.
///
/// The host's addresses come and go. The entries of one that goes are empty until that address returns: an
/// index that was used never names another address. One that comes gets its usual place where that was never
/// used, or else the next one. Any thread may ask while one changes the table.
///
/// Where the medium carries IP packets there is no RoCE v1: its entries are empty.
class GidTable {
 public:
  /// Places of addresses.
  static constexpr std::size_t kLinkLocal = 0;
  static constexpr std::size_t kIpv4 = 1;
  static constexpr std::size_t kIpv6 = 2;

  explicit GidTable(const DeviceConfig& config);

  struct Update {
    bool has_changed = false;                   ///< the table
    std::vector<transport::wire::Gid> moved{};  ///< addresses whose interface has another MAC than before
  };
  /// The host has these addresses now.
  Update update(const std::vector<HostAddress>& all);

  // --- Entries, by their index ---

  /// How many there can be.
  std::size_t size() const { return size_; }
  /// The entry, or nothing when the index is empty or beyond the table.
  std::optional<GidEntry> entry_at(std::size_t index) const;
  /// Its address alone.
  std::optional<transport::wire::Gid> at(std::size_t index) const;
  /// The index of `gid` with that encapsulation, or nothing. Connection managers, and others that do not say
  /// which, mean RoCE v2.
  std::optional<std::uint8_t> index_of(
      const transport::wire::Gid& gid,
      transport::wire::Encapsulation encapsulation = transport::wire::Encapsulation::kRoceV2) const;
  /// Whether there are entries of RoCE v1.
  bool has_roce_v1() const { return has_roce_v1_; }
  /// Whether the index is empty for no other reason than that the medium carries IP packets.
  bool would_be_roce_v1(std::size_t index) const;

  /// The network interface of the host that has the address at that index, and its index; empty and 0 without
  /// one.
  std::string_view interface_at(std::size_t index) const;
  unsigned interface_index_at(std::size_t index) const;

  // --- Addresses, by their place ---

  /// How many are in use, or left empty before others.
  std::size_t address_count() const { return address_count_.load(std::memory_order_acquire); }
  std::optional<transport::wire::Gid> address_at(std::size_t place) const;
  bool contains(const transport::wire::Gid& gid) const { return place_of(gid).has_value(); }
  /// Whether there is an address of the same kind as `other`, IPv4 or IPv6.
  bool has_like(const transport::wire::Gid& other) const;
  /// Of the device: the EUI-64 of the MAC, which is the second half of the link-local address made from it.
  std::uint64_t node_guid() const { return node_guid_; }

 private:
  using Encapsulation = transport::wire::Encapsulation;

  /// Which entries an address has. Addresses follow each other, with the same number of indices each.
  struct Layout {
    std::size_t first = 0;                                ///< index of the first address' first entry
    std::size_t step = 1;                                 ///< indices that each address takes up
    std::array<std::optional<Encapsulation>, 2> forms{};  ///< of which kind they are; none: empty
  };
  static Layout layout_of(GidEntries entries);

  struct Address {
    HostAddress address{};                ///< never another one, once there was one
    std::atomic<bool> is_present{false};  ///< set after the address
  };
  struct Spot {
    const Address* address = nullptr;
    Encapsulation encapsulation{};
  };

  bool add(const HostAddress& address);
  static void put(Address& place, const HostAddress& address);
  const Address* present(std::size_t place) const;
  std::optional<std::size_t> place_of(const transport::wire::Gid& gid) const;
  std::optional<Encapsulation> form_of(std::size_t index) const;
  std::optional<Spot> spot_at(std::size_t index) const;

  std::array<Address, DeviceLimits::kMaxGidEntries> addresses_;
  std::atomic<std::size_t> address_count_{0};
  std::string first_interface_;  // of the host's, whose addresses have the usual places
  std::uint64_t node_guid_;
  std::size_t size_;
  Layout layout_;
  std::size_t most_addresses_;  // that have their entries within the table
  bool has_roce_v1_;
};

}  // namespace urnic::nic
