// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Changes captured frames, and gives them right lengths and checksums again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/conformance/check/checker.h"

namespace urnic::check::test {

using urnic::test::CapturedFrame;

/// One RoCEv2 frame on Ethernet without VLAN tag. Offsets count from the BTH. Until seal(), checksums are
/// wrong.
class FrameEdit {
 public:
  explicit FrameEdit(CapturedFrame& frame) : frame_(frame) {}

  FrameEdit& byte(std::size_t at, std::uint8_t value);
  FrameEdit& flip(std::size_t at, std::uint8_t bits);
  FrameEdit& u24(std::size_t at, std::uint32_t value);
  FrameEdit& u32(std::size_t at, std::uint32_t value);
  FrameEdit& opcode(std::uint8_t value) { return byte(0, value); }
  FrameEdit& psn(std::uint32_t value) { return u24(9, value); }
  FrameEdit& pad(std::uint8_t bytes);
  FrameEdit& ack_request(bool on);
  FrameEdit& msn(std::uint32_t value) { return u24(13, value); }
  FrameEdit& syndrome(std::uint8_t value) { return byte(12, value); }
  FrameEdit& ip_byte(std::size_t at, std::uint8_t value);  ///< counted from the IP header
  FrameEdit& new_ip_id();                                  ///< a repetition rather than a copy
  /// Makes the body longer by `bytes` zeros before the ICRC, or shorter.
  FrameEdit& resize(std::ptrdiff_t bytes);

  /// Puts `count` zeros in front of offset `at`.
  FrameEdit& insert(std::size_t at, std::size_t count);

  /// Right lengths, IPv4 header checksum and ICRC.
  void seal();
  /// Right ICRC and IPv4 header checksum over whatever the lengths say.
  void seal_lengths_as_they_are();

  std::uint32_t psn() const { return u24_at(9); }
  std::uint32_t msn() const { return u24_at(13); }
  std::uint8_t opcode() const { return static_cast<std::uint8_t>(frame_.bytes.at(bth_at())); }
  std::uint32_t u24_at(std::size_t at) const;
  std::size_t ip_at() const { return 14; }
  std::size_t bth_at() const;

 private:
  std::byte& at(std::size_t offset) { return frame_.bytes.at(offset); }
  void store_u16(std::size_t offset, std::size_t value);
  bool is_ipv6() const;

  CapturedFrame& frame_;
};

/// A capture of pcap_fixtures in memory, with frames numbered from 1.
class Capture {
 public:
  explicit Capture(std::vector<CapturedFrame> frames) : frames_(std::move(frames)) {}
  /// The capture `name`.pcap of pcap_fixtures.
  static Capture fixture(const std::string& name);
  /// One frame, out of a file that holds nothing else.
  static Capture frame_in(const std::filesystem::path& path);

  FrameEdit edit(std::size_t number) { return FrameEdit(frames_.at(number - 1)); }
  CapturedFrame& operator[](std::size_t number) { return frames_.at(number - 1); }
  std::size_t size() const { return frames_.size(); }
  const std::vector<CapturedFrame>& frames() const { return frames_; }
  void erase(std::size_t number);
  void keep_first(std::size_t count) { frames_.resize(count); }
  /// Repeats frame `number` after frame `behind`, `after_ns` later than that one. Returns the number of the
  /// copy.
  std::size_t repeat(std::size_t number, std::size_t behind, std::int64_t after_ns = 1000);
  /// Puts a frame after frame `behind`, or before all others (0). Returns its number.
  std::size_t insert(CapturedFrame frame, std::size_t behind);
  void append(const Capture& other);
  /// Frames from `number` on come so much later.
  void delay(std::size_t number, std::int64_t ns);

 private:
  std::vector<CapturedFrame> frames_;
};

/// A reading of `capture` to its end, handed to `look`.
void check_capture(const Capture& capture, const CheckOptions& options,
                   const std::function<void(const Checker&)>& look);

using urnic::test::fixtures;
using urnic::test::fpga_captures;
using urnic::test::shared_captures;

}  // namespace urnic::check::test
