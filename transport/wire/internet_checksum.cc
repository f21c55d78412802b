// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/internet_checksum.h"

#include <boost/endian/conversion.hpp>
#include <cstring>

#include "transport/types.h"

namespace urnic::transport::wire {

// Four bytes at a time into 64 bits: the carries fold in at the end, and 2^32 words would be needed to
// overflow.
void InternetChecksum::add(std::span<const std::byte> bytes) {
  std::uint64_t sum = sum_;
  while (bytes.size() >= sizeof(std::uint32_t)) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    sum += word;
    bytes = bytes.subspan(sizeof word);
  }
  if (!bytes.empty()) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    sum += word;
  }
  sum_ = sum;
}

void InternetChecksum::add_word(std::uint16_t host_order) {
  sum_ += boost::endian::native_to_big(host_order);
}

void InternetChecksum::add_pseudo_header(const Ipv4Address& source, const Ipv4Address& destination,
                                         IpProtocol protocol, std::uint32_t length) {
  add(std::as_bytes(std::span(source.octets)));
  add(std::as_bytes(std::span(destination.octets)));
  add_word(to_integer(protocol));
  add_word(static_cast<std::uint16_t>(length));
}

void InternetChecksum::add_pseudo_header(const Ipv6Address& source, const Ipv6Address& destination,
                                         IpProtocol protocol, std::uint32_t length) {
  add(std::as_bytes(std::span(source.octets)));
  add(std::as_bytes(std::span(destination.octets)));
  add_word(static_cast<std::uint16_t>(length >> 16));
  add_word(static_cast<std::uint16_t>(length));
  add_word(to_integer(protocol));
}

std::uint16_t InternetChecksum::value() const {
  std::uint64_t sum = sum_;
  while (sum > 0xffffu) sum = (sum & 0xffffu) + (sum >> 16);
  return boost::endian::big_to_native(static_cast<std::uint16_t>(~sum));
}

}  // namespace urnic::transport::wire
