// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/connections/mad.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/script/packet_text.h"

namespace urnic::scripts::connections {
namespace {

/// Messages, as sets of bits.
enum Messages : unsigned {
  kReq = 1u << 0,
  kMra = 1u << 1,
  kRej = 1u << 2,
  kRep = 1u << 3,
  kRtu = 1u << 4,
  kDreq = 1u << 5,
  kDrep = 1u << 6,
  kSidrReq = 1u << 7,
  kSidrRep = 1u << 8,
  kLap = 1u << 9,
  kApr = 1u << 10,
  kAll = 0x7ff,
  kSidr = kSidrReq | kSidrRep,
  kAnswers = kAll & ~(kReq | kSidr),
};

/// In the order of their attributes, the first of which is kFirstAttribute (fact 44).
constexpr auto kNames = std::to_array<std::string_view>(
    {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"});
constexpr std::uint64_t kFirstAttribute = 0x10;

/// Offsets of fields count from the end of the header.
constexpr std::size_t kHeaderBytes = 24;

/// A number of `bits` that begins in byte `at` of the message and ends `shift` bits above the end of its last
/// byte.
struct Number {
  std::string_view name;
  unsigned messages;
  std::size_t at;
  unsigned bits;
  unsigned shift = 0;
};

constexpr Number of_header(std::string_view name, std::size_t at, unsigned bits) {
  return {name, kAll, at, bits};
}
constexpr Number in(unsigned messages, std::string_view name, std::size_t at, unsigned bits,
                    unsigned shift = 0) {
  return {name, messages, kHeaderBytes + at, bits, shift};
}

constexpr auto kNumbers = std::to_array<Number>({
    of_header("base-version", 0, 8),
    of_header("class", 1, 8),
    of_header("class-version", 2, 8),
    of_header("method", 3, 8),
    of_header("tid", 8, 64),
    of_header("attribute", 16, 16),
    in(kAll & ~kSidr, "local-id", 0, 32),
    in(kAnswers, "remote-id", 4, 32),

    in(kReq, "service-id", 8, 64),
    in(kReq, "guid", 16, 64),
    in(kReq, "qkey", 28, 32),
    in(kReq, "qpn", 32, 24),
    in(kReq, "resources", 35, 8),
    in(kReq, "depth", 39, 8),
    in(kReq, "remote-timeout", 43, 5, 3),
    in(kReq, "transport", 43, 2, 1),
    in(kReq, "flow-control", 43, 1),
    in(kReq, "psn", 44, 24),
    in(kReq, "local-timeout", 47, 5, 3),
    in(kReq, "retries", 47, 3),
    in(kReq, "pkey", 48, 16),
    in(kReq, "mtu", 50, 4, 4),
    in(kReq, "rnr-retries", 50, 3),
    in(kReq, "cm-retries", 51, 4, 4),
    in(kReq, "srq", 51, 1, 3),
    in(kReq, "extended", 51, 3),
    in(kReq, "local-lid", 52, 16),
    in(kReq, "remote-lid", 54, 16),
    in(kReq, "flow-label", 88, 20, 4),
    in(kReq, "rate", 91, 6),
    in(kReq, "traffic-class", 92, 8),
    in(kReq, "hop-limit", 93, 8),
    in(kReq, "sl", 94, 4, 4),
    in(kReq, "subnet-local", 94, 1, 3),
    in(kReq, "ack-timeout", 95, 5, 3),
    in(kReq, "alternate-lid", 96, 16),
    in(kReq, "header-version", 140, 8),
    in(kReq, "ip-version", 141, 4, 4),
    in(kReq, "source-port", 142, 16),

    in(kRep, "qkey", 8, 32),
    in(kRep, "qpn", 12, 24),
    in(kRep, "eecn", 16, 24),
    in(kRep, "psn", 20, 24),
    in(kRep, "resources", 24, 8),
    in(kRep, "depth", 25, 8),
    in(kRep, "ack-delay", 26, 5, 3),
    in(kRep, "failover", 26, 2, 1),
    in(kRep, "flow-control", 26, 1),
    in(kRep, "rnr-retries", 27, 3, 5),
    in(kRep, "srq", 27, 1, 4),
    in(kRep, "guid", 28, 64),

    in(kDreq, "qpn", 8, 24),
    in(kMra | kRej, "answered", 8, 2, 6),
    in(kMra, "timeout", 9, 5, 3),
    in(kRej, "info-length", 9, 7, 1),
    in(kRej, "reason", 10, 16),
    in(kRej, "info", 12, 64),

    in(kSidr, "request-id", 0, 32),
    in(kSidrReq, "pkey", 4, 16),
    in(kSidrReq, "service-id", 8, 64),
    in(kSidrReq, "header-version", 16, 8),
    in(kSidrReq, "ip-version", 17, 4, 4),
    in(kSidrReq, "source-port", 18, 16),
    in(kSidrRep, "status", 4, 8),
    in(kSidrRep, "info-length", 5, 8),
    in(kSidrRep, "qpn", 8, 24),
    in(kSidrRep, "service-id", 12, 64),
    in(kSidrRep, "qkey", 20, 32),
    in(kSidrRep, "info", 24, 64),
});

struct Address {
  std::string_view name;
  unsigned messages;
  std::size_t at;
};
constexpr auto kAddresses = std::to_array<Address>({
    {"local-gid", kReq, kHeaderBytes + 56},
    {"remote-gid", kReq, kHeaderBytes + 72},
    {"source", kReq, kHeaderBytes + 144},
    {"destination", kReq, kHeaderBytes + 160},
    {"source", kSidrReq, kHeaderBytes + 20},
    {"destination", kSidrReq, kHeaderBytes + 36},
});

/// Where private data begin, in the order of kNames; they end with the message. In REQ and SIDR_REQ they
/// follow rdma_cm's 36 bytes.
constexpr auto kPrivateAt = std::to_array<std::size_t>({176, 10, 84, 36, 8, 12, 8, 52, 96, 232, 232});

std::uint64_t mask_of(const Number& number) {
  return number.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << number.bits) - 1;
}

std::size_t bytes_of(const Number& number) {
  return (number.bits + number.shift + 7) / 8;
}

std::uint64_t load(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

void put(std::span<std::byte> bytes, std::uint64_t mask, std::uint64_t value) {
  for (std::size_t at = bytes.size(); at > 0; --at, mask >>= 8, value >>= 8) {
    bytes[at - 1] = (bytes[at - 1] & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(value & mask);
  }
}

/// In kNames.
std::size_t place_of(const Mad& mad) {
  return static_cast<std::size_t>(load(mad.bytes().subspan(16, 2)) - kFirstAttribute);
}

unsigned bit_of(const Mad& mad) {
  const std::size_t index = place_of(mad);
  return index < kNames.size() ? 1u << index : 0;
}

bool is_in(const Mad& mad, const Number& number) {
  return number.messages == kAll || (number.messages & bit_of(mad)) != 0;
}

const Number* find_number(const Mad& mad, std::string_view field) {
  const auto found = std::find_if(kNumbers.begin(), kNumbers.end(), [&](const Number& number) {
    return number.name == field && is_in(mad, number);
  });
  return found == kNumbers.end() ? nullptr : &*found;
}

/// Whether all messages of one name have the same number there.
bool is_fixed(std::string_view field) {
  const auto found =
      std::find_if(kNumbers.begin(), kNumbers.end(), [&](const Number& n) { return n.name == field; });
  return found->messages == kAll && field != "tid";
}

}  // namespace

std::optional<Mad> Mad::named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  Mad mad;
  mad.set("base-version", 1);
  mad.set("class", 7);
  mad.set("class-version", 2);
  mad.set("method", 3);
  mad.set("attribute", kFirstAttribute + static_cast<std::size_t>(found - kNames.begin()));
  return mad;
}

Mad Mad::of(const std::array<std::byte, kBytes>& bytes) {
  Mad mad;
  mad.bytes_ = bytes;
  return mad;
}

std::string_view Mad::name() const {
  const std::size_t index = place_of(*this);
  return index < kNames.size() ? kNames[index] : "?";
}

bool Mad::has(std::string_view field) const {
  return find_number(*this, field) != nullptr;
}

std::vector<std::string_view> Mad::numbers() const {
  std::vector<std::string_view> names;
  for (const Number& number : kNumbers) {
    if (is_in(*this, number)) names.push_back(number.name);
  }
  return names;
}

std::uint64_t Mad::get(std::string_view field) const {
  const Number& number = *find_number(*this, field);
  return load(bytes().subspan(number.at, bytes_of(number))) >> number.shift & mask_of(number);
}

void Mad::set(std::string_view field, std::uint64_t value) {
  const Number& number = *find_number(*this, field);
  put(std::span(bytes_).subspan(number.at, bytes_of(number)), mask_of(number) << number.shift,
      value << number.shift);
}

std::span<const std::byte> Mad::address(std::string_view which) const {
  for (const Address& address : kAddresses) {
    const bool is_it = address.name == which && (address.messages & bit_of(*this)) != 0;
    if (is_it) return bytes().subspan(address.at, kAddressBytes);
  }
  return {};
}

void Mad::set_address(std::string_view which, std::span<const std::byte> address) {
  const std::span<const std::byte> place = this->address(which);
  if (place.empty()) return;
  std::copy_n(address.begin(), place.size(), bytes_.begin() + (place.data() - bytes_.data()));
}

std::span<const std::byte> Mad::private_data() const {
  const std::size_t index = place_of(*this);
  if (index >= kNames.size()) return {};
  return bytes().subspan(kHeaderBytes + kPrivateAt[index]);
}

void Mad::set_private_data(std::span<const std::byte> data) {
  const std::size_t room = private_data().size();
  std::copy_n(data.begin(), std::min(data.size(), room), bytes_.end() - static_cast<std::ptrdiff_t>(room));
}

std::string Mad::fault() const {
  const auto plain = named(name());
  if (!plain) return fmt::format("attribute {:#x} is no message of the connection manager", get("attribute"));
  Mad known = *plain;
  for (const std::string_view number : numbers()) {
    if (!is_fixed(number)) known.set(number, get(number));
  }
  for (const Address& address : kAddresses) known.set_address(address.name, this->address(address.name));
  known.set_private_data(private_data());
  const auto [at, other] = std::mismatch(bytes_.begin(), bytes_.end(), known.bytes_.begin());
  if (at == bytes_.end()) return "";
  return fmt::format("byte {} is {:02x}, which must be {:02x}: the header, or reserved", at - bytes_.begin(),
                     std::to_integer<unsigned>(*at), std::to_integer<unsigned>(*other));
}

std::string Mad::describe() const {
  std::string text(name());
  for (const std::string_view number : numbers()) {
    if (!is_fixed(number) && get(number) != 0) text += fmt::format(" {}={}", number, readable(get(number)));
  }
  return text;
}

std::span<const std::string_view> mad_names() {
  return kNames;
}

bool is_mad_number(std::string_view field) {
  return most_of_mad_number(field) != 0;
}

std::uint64_t most_of_mad_number(std::string_view field) {
  std::uint64_t most = 0;
  for (const Number& number : kNumbers) {
    if (number.name == field) most = std::max(most, mask_of(number));
  }
  return most;
}

}  // namespace urnic::scripts::connections
