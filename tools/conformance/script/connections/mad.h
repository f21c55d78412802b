// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mad: a management datagram of the connection manager as the scripts write it, and its bytes.
//
// Nothing here uses nic/cm: the offsets were written down a second time, from transport/FACTS.md and
// nic/cm/CM.md 3.2, so that a field misread there does not confirm itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace urnic::scripts::connections {

class Mad {
 public:
  static constexpr std::size_t kBytes = 256;
  static constexpr std::size_t kAddressBytes = 16;

  /// A message of this name, e.g. "SIDR_REP", all of whose fields are zero; nothing if there is none.
  static std::optional<Mad> named(std::string_view name);
  static Mad of(const std::array<std::byte, kBytes>& bytes);

  std::string_view name() const;  ///< "?" for an attribute that is none of the connection manager's
  std::span<const std::byte> bytes() const { return bytes_; }

  bool has(std::string_view field) const;
  /// The names of all its numbers.
  std::vector<std::string_view> numbers() const;
  /// The number called `field`, which the message has, in host order.
  std::uint64_t get(std::string_view field) const;
  void set(std::string_view field, std::uint64_t value);

  /// One of "local-gid", "remote-gid", "source", "destination"; the last two are in rdma_cm's header, where
  /// the last four bytes hold an IPv4 address. Empty if the message has no such address.
  std::span<const std::byte> address(std::string_view which) const;
  void set_address(std::string_view which, std::span<const std::byte> address);

  /// The program's data: in REQ and SIDR_REQ, the bytes after rdma_cm's header.
  std::span<const std::byte> private_data() const;
  void set_private_data(std::span<const std::byte> data);

  /// What no message may have: another header, or something in a place that is reserved. Empty if it is as it
  /// must be.
  std::string fault() const;
  /// One line: the name, and all numbers that are not zero.
  std::string describe() const;

  friend bool operator==(const Mad&, const Mad&) = default;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// Names of messages.
std::span<const std::string_view> mad_names();
/// A name that script lines may give a number of a message, e.g. "local-id".
bool is_mad_number(std::string_view field);
/// The most that fits into it.
std::uint64_t most_of_mad_number(std::string_view field);

}  // namespace urnic::scripts::connections
