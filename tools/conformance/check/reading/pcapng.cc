// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/reading/pcapng.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/endian/conversion.hpp>
#include <cstring>
#include <utility>

// The format is from draft-ietf-opsawg-pcapng.
namespace urnic::check {
namespace {

constexpr std::uint32_t kSectionBlock = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kOldPacketBlock = 2;
constexpr std::uint32_t kSimplePacketBlock = 3;
constexpr std::uint32_t kPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kResolution = 9;
constexpr std::uint16_t kTimeOffset = 14;

constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kFrameOfBlock = 12;  // type and twice the length
/// A packet of 1 MiB with its options. Longer blocks of other kinds are skipped, and need no memory.
constexpr std::size_t kLongestBlock = std::size_t{2} << 20;
constexpr std::size_t kMostInterfaces = 4096;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr unsigned kMostDecimals = 18;
constexpr unsigned kMostBinaries = 62;

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

std::int64_t nanoseconds_of(std::uint64_t ticks, std::uint64_t per_second, std::int64_t offset_s) {
  const std::uint64_t seconds = ticks / per_second;
  std::uint64_t rest = ticks % per_second;
  // Without an overflow: beyond nanoseconds nothing is kept.
  while (per_second > kNsPerSecond * 4) {
    per_second /= 2;
    rest /= 2;
  }
  const std::uint64_t nanoseconds = std::min(rest * kNsPerSecond / per_second, kNsPerSecond - 1);
  // A damaged file may hold any second.
  const std::uint64_t sane = (seconds + static_cast<std::uint64_t>(offset_s)) % (UINT64_C(1) << 33);
  return static_cast<std::int64_t>(sane * kNsPerSecond + nanoseconds);
}

}  // namespace

std::uint16_t Pcapng::u16(std::size_t at) const {
  std::uint16_t value = 0;
  std::memcpy(&value, body_.data() + at, sizeof value);
  return is_swapped_ ? boost::endian::endian_reverse(value) : value;
}

std::uint32_t Pcapng::u32(std::size_t at) const {
  std::uint32_t value = 0;
  std::memcpy(&value, body_.data() + at, sizeof value);
  return is_swapped_ ? boost::endian::endian_reverse(value) : value;
}

std::uint64_t Pcapng::u64_of_halves(std::size_t at) const {
  return std::uint64_t{u32(at)} << 32 | u32(at + 4);
}

ReadResult Pcapng::next(RawFrame& frame, std::string& why) {
  while (true) {
    switch (step(frame, why)) {
      case Step::kNext:
        break;
      case Step::kFrame:
        return ReadResult::kFrame;
      case Step::kEnd:
        return ReadResult::kEnd;
      case Step::kDamage:
        return ReadResult::kDamage;
    }
  }
}

bool Pcapng::skip(std::size_t bytes) {
  std::array<std::byte, 4096> rubbish;
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, rubbish.size());
    if (std::fread(rubbish.data(), 1, part, file_) != part) return false;
    bytes -= part;
  }
  return true;
}

Pcapng::Step Pcapng::step(RawFrame& frame, std::string& why) {
  const auto damage = [&why](std::string what) {
    why = std::move(what);
    return Step::kDamage;
  };
  body_.resize(kHeadBytes + 4);
  const std::size_t read = std::fread(body_.data(), 1, kHeadBytes, file_);
  if (read == 0 && std::feof(file_) != 0) {
    return has_section_ && !interfaces_.empty() ? Step::kEnd : damage("the file ends before any interface");
  }
  if (read < kHeadBytes) return damage("truncated in the head of a block");
  const std::uint32_t raw_type = u32(0);
  if (raw_type == kSectionBlock) {  // reads the same in both orders; the word after the length tells it
    if (std::fread(body_.data() + kHeadBytes, 1, 4, file_) != 4) {
      return damage("truncated in a section's head");
    }
    is_swapped_ = false;
    is_swapped_ = u32(kHeadBytes) != kByteOrderMagic;
    if (u32(kHeadBytes) != kByteOrderMagic) return damage("a section without its byte order");
  }
  const std::uint32_t type = u32(0);
  const std::size_t length = u32(4);
  const std::size_t consumed = type == kSectionBlock ? kHeadBytes + 4 : kHeadBytes;
  if (length < kFrameOfBlock || length % 4 != 0 || length < consumed + 4) {
    return damage(fmt::format("a block of {} bytes", length));
  }
  if (!has_section_ && type != kSectionBlock) return damage("a block before the first section");
  const std::size_t rest = length - consumed;
  const bool is_wanted = type == kSectionBlock || type == kInterfaceBlock || type == kOldPacketBlock ||
                         type == kSimplePacketBlock || type == kPacketBlock;
  if (!is_wanted) return skip(rest) ? Step::kNext : damage("truncated in a block");
  if (length > kLongestBlock) return damage(fmt::format("a block of {} bytes", length));
  body_.resize(rest);
  if (std::fread(body_.data(), 1, rest, file_) != rest) return damage("truncated in a block");
  if (u32(rest - 4) != length) return damage("a block whose two lengths differ");
  body_.resize(rest - 4);
  switch (type) {
    case kSectionBlock:
      return begin_section(why);
    case kInterfaceBlock:
      return take_interface(why);
    case kOldPacketBlock:
      return take_old_packet(frame, why);
    case kSimplePacketBlock:
      return take_simple_packet(frame, why);
    default:
      return take_packet(frame, why);
  }
}

Pcapng::Step Pcapng::begin_section(std::string& why) {
  constexpr std::uint16_t kMajorVersion = 1;
  if (body_.size() < 4 || u16(0) != kMajorVersion) {
    why = "a section of an unknown version";
    return Step::kDamage;
  }
  has_section_ = true;
  interfaces_.clear();
  return Step::kNext;
}

Pcapng::Step Pcapng::take_interface(std::string& why) {
  constexpr std::size_t kFixed = 8;
  if (body_.size() < kFixed || interfaces_.size() >= kMostInterfaces) {
    why = body_.size() < kFixed ? "an interface that is cut" : "more than 4096 interfaces";
    return Step::kDamage;
  }
  Interface interface { .link_type = static_cast<LinkType>(u16(0)), .snap_bytes = u32(4) };
  if (!read_options(interface, kFixed)) {
    why = "an interface with an unknown resolution of time";
    return Step::kDamage;
  }
  interfaces_.push_back(interface);
  return Step::kNext;
}

bool Pcapng::read_options(Interface& interface, std::size_t at) const {
  while (at + 4 <= body_.size()) {
    const std::uint16_t code = u16(at);
    const std::size_t length = u16(at + 2);
    at += 4;
    if (code == kEndOfOptions || at + length > body_.size()) break;
    if (code == kResolution && length >= 1) {
      const auto value = std::to_integer<unsigned>(body_[at]);
      const unsigned digits = value & 0x7fu;
      const bool is_binary = (value & 0x80u) != 0;
      if (digits > (is_binary ? kMostBinaries : kMostDecimals)) return false;
      interface.ticks_per_second = 1;
      for (unsigned i = 0; i < digits; ++i) interface.ticks_per_second *= is_binary ? 2 : 10;
    } else if (code == kTimeOffset && length >= 8) {
      const std::uint64_t first = u32(at);
      const std::uint64_t second = u32(at + 4);
      const bool is_big = (std::endian::native == std::endian::big) != is_swapped_;
      interface.offset_s = static_cast<std::int64_t>(is_big ? first << 32 | second : second << 32 | first);
    }
    at += padded(length);
  }
  return true;
}

Pcapng::Step Pcapng::take_packet(RawFrame& frame, std::string& why) {
  constexpr std::size_t kFixed = 20;
  if (body_.size() < kFixed) {
    why = "a packet that is cut";
    return Step::kDamage;
  }
  return take(frame, u32(0), u64_of_halves(4), kFixed, u32(16), u32(12), why);
}

Pcapng::Step Pcapng::take_old_packet(RawFrame& frame, std::string& why) {
  constexpr std::size_t kFixed = 20;
  if (body_.size() < kFixed) {
    why = "a packet that is cut";
    return Step::kDamage;
  }
  return take(frame, u16(0), u64_of_halves(4), kFixed, u32(16), u32(12), why);
}

/// It has no time: it is taken for as old as can be.
Pcapng::Step Pcapng::take_simple_packet(RawFrame& frame, std::string& why) {
  constexpr std::size_t kFixed = 4;
  if (body_.size() < kFixed || interfaces_.empty()) {
    why = "a packet that is cut, or has no interface";
    return Step::kDamage;
  }
  const std::size_t wire_bytes = u32(0);
  const std::size_t most = interfaces_.front().snap_bytes;
  const std::size_t kept = std::min({wire_bytes, most == 0 ? wire_bytes : most, body_.size() - kFixed});
  return take(frame, 0, 0, kFixed, wire_bytes, kept, why);
}

Pcapng::Step Pcapng::take(RawFrame& frame, std::size_t interface, std::uint64_t ticks, std::size_t at,
                          std::size_t wire_bytes, std::size_t kept_bytes, std::string& why) {
  if (interface >= interfaces_.size()) {
    why = fmt::format("a packet of interface {}, which the file does not describe", interface);
    return Step::kDamage;
  }
  if (kept_bytes > body_.size() - at) {
    why = fmt::format("a packet of {} bytes in a block that is shorter", kept_bytes);
    return Step::kDamage;
  }
  const Interface& from = interfaces_[interface];
  frame.bytes = ByteView(body_).subspan(at, kept_bytes);
  frame.wire_bytes = std::max(wire_bytes, kept_bytes);
  frame.time_ns = nanoseconds_of(ticks, from.ticks_per_second, from.offset_s);
  frame.link_type = from.link_type;
  return Step::kFrame;
}

}  // namespace urnic::check
