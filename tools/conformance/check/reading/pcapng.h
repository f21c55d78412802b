// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads pcapng files with any number of interfaces, each with its own link type and resolution of time, which
// libpcap refuses.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/check/reading/raw_frame.h"

namespace urnic::check {

class Pcapng {
 public:
  /// The first byte of every pcapng file, which no pcap file has.
  static constexpr int kFirstByte = 0x0a;

  /// `file` is at its beginning and outlives this object.
  explicit Pcapng(std::FILE* file) : file_(file) {}

  /// The next frame goes to `frame`, except for its number. After kDamage `why` says what is wrong.
  ReadResult next(RawFrame& frame, std::string& why);

 private:
  struct Interface {
    LinkType link_type = LinkType::kEthernet;
    std::uint32_t snap_bytes = 0;  ///< 0: no limit
    std::uint64_t ticks_per_second = 1'000'000;
    std::int64_t offset_s = 0;
  };
  enum class Step : std::uint8_t { kNext, kFrame, kEnd, kDamage };

  Step step(RawFrame& frame, std::string& why);
  Step begin_section(std::string& why);
  Step take_interface(std::string& why);
  Step take_packet(RawFrame& frame, std::string& why);
  Step take_old_packet(RawFrame& frame, std::string& why);
  Step take_simple_packet(RawFrame& frame, std::string& why);
  Step take(RawFrame& frame, std::size_t interface, std::uint64_t ticks, std::size_t at,
            std::size_t wire_bytes, std::size_t kept_bytes, std::string& why);
  bool read_options(Interface& interface, std::size_t at) const;
  bool skip(std::size_t bytes);

  std::uint16_t u16(std::size_t at) const;
  std::uint32_t u32(std::size_t at) const;
  std::uint64_t u64_of_halves(std::size_t at) const;

  std::FILE* file_;
  bool is_swapped_ = false;
  bool has_section_ = false;
  std::vector<std::byte> body_;  ///< of the block that is looked at, without its lengths
  std::vector<Interface> interfaces_;
};

}  // namespace urnic::check
