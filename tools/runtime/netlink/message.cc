// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/message.h"

#include <algorithm>
#include <cstring>

namespace urnic::netlink {

void AttributeWriter::text(std::uint16_t type, std::string_view value) {
  Bytes with_end(value.size() + 1);
  const std::size_t length = std::min(value.find('\0'), value.size());
  std::memcpy(with_end.data(), value.data(), length);
  put(type, with_end.data(), length + 1);
}

void AttributeWriter::put(std::uint16_t type, const void* value, std::size_t size) {
  const nlattr head{.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + size), .nla_type = type};
  const std::size_t at = bytes_.size();
  bytes_.resize(at + attribute_bytes(size));
  std::memcpy(bytes_.data() + at, &head, sizeof head);
  if (size > 0) std::memcpy(bytes_.data() + at + NLA_HDRLEN, value, size);
}

Bytes message(const nlmsghdr& head, std::span<const std::byte> payload) {
  nlmsghdr whole = head;
  whole.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
  Bytes bytes(NLMSG_ALIGN(whole.nlmsg_len));
  std::memcpy(bytes.data(), &whole, sizeof whole);
  std::copy(payload.begin(), payload.end(), bytes.begin() + NLMSG_HDRLEN);
  return bytes;
}

std::optional<Request> Request::take(std::span<const std::byte>& bytes) {
  Request request;
  if (bytes.size() < NLMSG_HDRLEN) return std::nullopt;
  std::memcpy(&request.head, bytes.data(), sizeof request.head);
  const std::size_t length = request.head.nlmsg_len;
  if (length < NLMSG_HDRLEN || length > bytes.size()) return std::nullopt;
  request.whole = bytes.first(length);
  request.payload = request.whole.subspan(NLMSG_HDRLEN);
  bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(length), bytes.size()));
  return request;
}

std::optional<std::span<const std::byte>> Attributes::find(std::uint16_t type) const {
  std::optional<std::span<const std::byte>> found;
  for (auto rest = payload_; rest.size() >= NLA_HDRLEN;) {
    nlattr head{};
    std::memcpy(&head, rest.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > rest.size()) break;
    if ((head.nla_type & NLA_TYPE_MASK) == type) found = rest.subspan(NLA_HDRLEN, head.nla_len - NLA_HDRLEN);
    rest = rest.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), rest.size()));
  }
  return found;
}

std::optional<std::uint32_t> Attributes::u32(std::uint16_t type) const {
  const auto bytes = find(type);
  std::uint32_t value = 0;
  if (!bytes || bytes->size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

std::optional<std::string_view> Attributes::text(std::uint16_t type) const {
  const auto bytes = find(type);
  if (!bytes) return std::nullopt;
  const std::string_view all(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return all.substr(0, all.find('\0'));
}

}  // namespace urnic::netlink
