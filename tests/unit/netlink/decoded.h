// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of netlink as a test reads them, by <linux/netlink.h> alone.
#pragma once

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace urnic::netlink {

/// Attributes in their order: a type may come again.
struct DecodedAttributes {
  std::vector<std::pair<int, std::vector<std::byte>>> all;

  explicit DecodedAttributes(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      nlattr head{};
      if (bytes.size() < sizeof head) {
        ADD_FAILURE() << "half an attribute";
        return;
      }
      std::memcpy(&head, bytes.data(), sizeof head);
      if (head.nla_len < sizeof head || static_cast<std::size_t>(NLA_ALIGN(head.nla_len)) > bytes.size()) {
        ADD_FAILURE() << "an attribute of " << head.nla_len << " bytes in " << bytes.size();
        return;
      }
      const auto value = bytes.subspan(NLA_HDRLEN, head.nla_len - NLA_HDRLEN);
      all.emplace_back(head.nla_type, std::vector<std::byte>(value.begin(), value.end()));
      bytes = bytes.subspan(static_cast<std::size_t>(NLA_ALIGN(head.nla_len)));
    }
  }

  bool has(int type) const {
    for (const auto& [known, value] : all) {
      if (known == type) return true;
    }
    return false;
  }
  const std::vector<std::byte>& of(int type) const {
    static const std::vector<std::byte> kNone;
    for (const auto& [known, value] : all) {
      if (known == type) return value;
    }
    ADD_FAILURE() << "no attribute " << type;
    return kNone;
  }
  /// Of exactly that size.
  template <typename Integer>
  Integer number(int type) const {
    Integer value{};
    EXPECT_EQ(of(type).size(), sizeof value) << "attribute " << type;
    if (of(type).size() == sizeof value) std::memcpy(&value, of(type).data(), sizeof value);
    return value;
  }
  std::uint8_t u8(int type) const { return number<std::uint8_t>(type); }
  std::uint32_t u32(int type) const { return number<std::uint32_t>(type); }
  std::uint64_t u64(int type) const { return number<std::uint64_t>(type); }
  std::string text(int type) const {
    const auto& value = of(type);
    EXPECT_TRUE(!value.empty() && value.back() == std::byte{0}) << "a text ends with a zero: " << type;
    return value.empty() ? "" : reinterpret_cast<const char*>(value.data());
  }
  std::vector<DecodedAttributes> inside(int type) const {
    std::vector<DecodedAttributes> entries;
    for (const auto& [known, value] : DecodedAttributes(of(type)).all) entries.emplace_back(value);
    return entries;
  }
};

struct Decoded {
  nlmsghdr head{};
  std::vector<std::byte> payload;

  DecodedAttributes attributes() const { return DecodedAttributes(payload); }
  /// Of an error, and of the end of a dump.
  int error() const {
    std::int32_t code = 0;
    EXPECT_GE(payload.size(), sizeof code);
    if (payload.size() >= sizeof code) std::memcpy(&code, payload.data(), sizeof code);
    return -code;
  }
};

/// The messages of one datagram.
inline std::vector<Decoded> decoded(std::span<const std::byte> bytes) {
  std::vector<Decoded> messages;
  while (!bytes.empty()) {
    Decoded message;
    if (bytes.size() < sizeof message.head) {
      ADD_FAILURE() << "half a message";
      break;
    }
    std::memcpy(&message.head, bytes.data(), sizeof message.head);
    const std::size_t length = message.head.nlmsg_len;
    if (length < NLMSG_HDRLEN || NLMSG_ALIGN(length) > bytes.size()) {
      ADD_FAILURE() << "a message of " << length << " bytes in " << bytes.size();
      break;
    }
    message.payload.assign(bytes.begin() + NLMSG_HDRLEN, bytes.begin() + static_cast<std::ptrdiff_t>(length));
    messages.push_back(std::move(message));
    bytes = bytes.subspan(NLMSG_ALIGN(length));
  }
  return messages;
}

inline std::vector<Decoded> decoded(const std::vector<std::vector<std::byte>>& datagrams) {
  std::vector<Decoded> messages;
  for (const auto& datagram : datagrams) {
    for (Decoded& message : decoded(std::span(datagram))) messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace urnic::netlink
