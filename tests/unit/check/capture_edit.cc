// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/check/capture_edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/support/value_of.h"

namespace urnic::check::test {
namespace {

constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kIcrcBytes = 4;

/// CRC-32 bit by bit, as fact 1 words it: slow, and of these tests alone.
class BitwiseCrc {
 public:
  void add(std::uint8_t octet) {
    state_ ^= octet;
    for (int bit = 0; bit < 8; ++bit) state_ = (state_ >> 1) ^ ((state_ & 1) != 0 ? 0xedb88320u : 0u);
  }
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xffffffff;
};

}  // namespace

bool FrameEdit::is_ipv6() const {
  return frame_.bytes.at(12) == std::byte{0x86};
}

std::size_t FrameEdit::bth_at() const {
  return ip_at() + (is_ipv6() ? kIpv6Bytes : kIpv4Bytes) + kUdpBytes;
}

void FrameEdit::store_u16(std::size_t offset, std::size_t value) {
  at(offset) = static_cast<std::byte>(value >> 8);
  at(offset + 1) = static_cast<std::byte>(value & 0xff);
}

FrameEdit& FrameEdit::byte(std::size_t offset, std::uint8_t value) {
  at(bth_at() + offset) = std::byte{value};
  return *this;
}

FrameEdit& FrameEdit::flip(std::size_t offset, std::uint8_t bits) {
  at(bth_at() + offset) ^= std::byte{bits};
  return *this;
}

FrameEdit& FrameEdit::u24(std::size_t offset, std::uint32_t value) {
  return byte(offset, static_cast<std::uint8_t>(value >> 16))
      .byte(offset + 1, static_cast<std::uint8_t>(value >> 8))
      .byte(offset + 2, static_cast<std::uint8_t>(value));
}

FrameEdit& FrameEdit::u32(std::size_t offset, std::uint32_t value) {
  return byte(offset, static_cast<std::uint8_t>(value >> 24)).u24(offset + 1, value);
}

FrameEdit& FrameEdit::pad(std::uint8_t bytes) {
  std::byte& flags = at(bth_at() + 1);
  flags = (flags & std::byte{0xcf}) | static_cast<std::byte>(bytes << 4);
  return *this;
}

FrameEdit& FrameEdit::ack_request(bool on) {
  std::byte& flags = at(bth_at() + 8);
  flags = (flags & std::byte{0x7f}) | (on ? std::byte{0x80} : std::byte{0});
  return *this;
}

FrameEdit& FrameEdit::ip_byte(std::size_t offset, std::uint8_t value) {
  at(ip_at() + offset) = std::byte{value};
  return *this;
}

FrameEdit& FrameEdit::new_ip_id() {
  at(ip_at() + 4) ^= std::byte{0x55};
  return *this;
}

FrameEdit& FrameEdit::resize(std::ptrdiff_t bytes) {
  const auto end = frame_.bytes.end() - static_cast<std::ptrdiff_t>(kIcrcBytes);
  if (bytes < 0) {
    frame_.bytes.erase(end + bytes, end);
  } else {
    frame_.bytes.insert(end, static_cast<std::size_t>(bytes), std::byte{0});
  }
  frame_.bytes_on_wire = frame_.bytes.size();
  return *this;
}

FrameEdit& FrameEdit::insert(std::size_t offset, std::size_t count) {
  frame_.bytes.insert(frame_.bytes.begin() + static_cast<std::ptrdiff_t>(bth_at() + offset), count,
                      std::byte{0});
  frame_.bytes_on_wire = frame_.bytes.size();
  return *this;
}

std::uint32_t FrameEdit::u24_at(std::size_t offset) const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    value = value << 8 | std::to_integer<std::uint32_t>(frame_.bytes.at(bth_at() + offset + i));
  }
  return value;
}

void FrameEdit::seal() {
  const std::size_t udp = bth_at() - kUdpBytes;
  store_u16(udp + 4, frame_.bytes.size() - udp);
  store_u16(ip_at() + (is_ipv6() ? 4 : 2),
            is_ipv6() ? frame_.bytes.size() - udp : frame_.bytes.size() - ip_at());
  seal_lengths_as_they_are();
}

void FrameEdit::seal_lengths_as_they_are() {
  if (!is_ipv6()) {
    store_u16(ip_at() + 10, 0);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kIpv4Bytes; i += 2) {
      sum += std::to_integer<std::uint32_t>(at(ip_at() + i)) << 8 |
             std::to_integer<std::uint32_t>(at(ip_at() + i + 1));
    }
    sum = (sum & 0xffff) + (sum >> 16);
    store_u16(ip_at() + 10, ~(sum + (sum >> 16)) & 0xffff);
  }
  auto masked = frame_.bytes;
  const auto mask = [&masked](std::size_t offset, std::uint8_t bits = 0xff) {
    masked[offset] |= std::byte{bits};
  };
  if (is_ipv6()) {
    mask(ip_at(), 0x0f);
    for (const std::size_t offset : {1, 2, 3, 7}) mask(ip_at() + offset);
  } else {
    for (const std::size_t offset : {1, 8, 10, 11}) mask(ip_at() + offset);
  }
  mask(bth_at() - 2);
  mask(bth_at() - 1);
  mask(bth_at() + 4);
  BitwiseCrc crc;
  for (int i = 0; i < 8; ++i) crc.add(0xff);
  for (std::size_t i = ip_at(); i + kIcrcBytes < masked.size(); ++i) {
    crc.add(std::to_integer<std::uint8_t>(masked[i]));
  }
  for (std::size_t i = 0; i < kIcrcBytes; ++i) {
    at(frame_.bytes.size() - kIcrcBytes + i) = static_cast<std::byte>(crc.value() >> (8 * i));
  }
}

Capture Capture::fixture(const std::string& name) {
  return Capture(urnic::test::value_of(urnic::test::read_pcap(fixtures() / (name + ".pcap"))));
}

Capture Capture::frame_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  CapturedFrame frame;
  std::transform(text.begin(), text.end(), std::back_inserter(frame.bytes),
                 [](char octet) { return static_cast<std::byte>(octet); });
  frame.bytes_on_wire = frame.bytes.size();
  return Capture({frame});
}

void Capture::erase(std::size_t number) {
  frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(number - 1));
}

std::size_t Capture::repeat(std::size_t number, std::size_t behind, std::int64_t after_ns) {
  CapturedFrame frame = frames_.at(number - 1);
  frame.time_ns = frames_.at(behind - 1).time_ns + after_ns;
  frames_.insert(frames_.begin() + static_cast<std::ptrdiff_t>(behind), frame);
  edit(behind + 1).new_ip_id().seal();
  return behind + 1;
}

std::size_t Capture::insert(CapturedFrame frame, std::size_t behind) {
  frames_.insert(frames_.begin() + static_cast<std::ptrdiff_t>(behind), std::move(frame));
  return behind + 1;
}

void Capture::append(const Capture& other) {
  frames_.insert(frames_.end(), other.frames_.begin(), other.frames_.end());
}

void Capture::delay(std::size_t number, std::int64_t ns) {
  for (std::size_t i = number - 1; i < frames_.size(); ++i) frames_[i].time_ns += ns;
}

void check_capture(const Capture& capture, const CheckOptions& options,
                   const std::function<void(const Checker&)>& look) {
  Checker checker(options);
  std::uint64_t number = 0;
  for (const CapturedFrame& frame : capture.frames()) {
    checker.add(LinkType::kEthernet, RawFrame{.bytes = frame.bytes,
                                              .wire_bytes = frame.bytes_on_wire,
                                              .time_ns = frame.time_ns,
                                              .number = ++number});
  }
  checker.finish();
  look(checker);
}

}  // namespace urnic::check::test
