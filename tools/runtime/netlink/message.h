// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of netlink: how they are written, and how a request is read.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace urnic::netlink {

using Bytes = std::vector<std::byte>;

/// Attributes one after the other, as they stand in a message or inside another attribute. Numbers are in the
/// order of the processor.
class AttributeWriter {
 public:
  void u8(std::uint16_t type, std::uint8_t value) { put(type, &value, sizeof value); }
  void u32(std::uint16_t type, std::uint32_t value) { put(type, &value, sizeof value); }
  void u64(std::uint16_t type, std::uint64_t value) { put(type, &value, sizeof value); }
  /// With the zero that ends it. What follows a zero inside is left out.
  void text(std::uint16_t type, std::string_view value);
  void bytes(std::uint16_t type, std::span<const std::byte> value) { put(type, value.data(), value.size()); }
  void nested(std::uint16_t type, const AttributeWriter& inner) { bytes(type, inner.written()); }

  const Bytes& written() const { return bytes_; }

 private:
  void put(std::uint16_t type, const void* value, std::size_t size);

  Bytes bytes_;
};

/// What an attribute takes that has `size` bytes inside.
constexpr std::size_t attribute_bytes(std::size_t size) {
  return NLA_HDRLEN + NLA_ALIGN(size);
}

/// A whole message.
Bytes message(const nlmsghdr& head, std::span<const std::byte> payload);
inline Bytes message(const nlmsghdr& head, const AttributeWriter& attributes) {
  return message(head, attributes.written());
}

/// A message as it came; it lives no longer than the bytes that it came in.
struct Request {
  nlmsghdr head{};
  std::span<const std::byte> whole{};    ///< head included
  std::span<const std::byte> payload{};  ///< after the head

  /// Takes the first message off `bytes`; nothing when what is there is none. The kernel reads no further
  /// then, and says nothing.
  static std::optional<Request> take(std::span<const std::byte>& bytes);
};

/// The attributes of a request, of which the last one of a type counts. What follows an attribute that is not
/// whole is not read, as by the kernel.
class Attributes {
 public:
  explicit Attributes(std::span<const std::byte> payload) : payload_(payload) {}

  bool has(std::uint16_t type) const { return find(type).has_value(); }
  /// Nothing when there is none, or a shorter one.
  std::optional<std::uint32_t> u32(std::uint16_t type) const;
  /// Up to its first zero.
  std::optional<std::string_view> text(std::uint16_t type) const;

 private:
  std::optional<std::span<const std::byte>> find(std::uint16_t type) const;

  std::span<const std::byte> payload_;
};

}  // namespace urnic::netlink
