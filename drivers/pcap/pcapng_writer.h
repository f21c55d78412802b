// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PcapngWriter: a capture file with comments, and with what no frame tells.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drivers/pcap/frame_writer.h"
#include "nic/port/medium.h"
#include "transport/result.h"

namespace urnic::drivers {

/// One section with one interface. A note is a block of a type of our own, with the highest bit set, and
/// UTF-8 text; other readers pass over it. (Wireshark 4.0 shows a custom block, the format's own way to do
/// this, as a packet, and numbers it.)
class PcapngWriter final : public FrameWriter {
 public:
  static constexpr std::uint32_t kNoteBlock = 0x80000bad;
  /// At its beginning, as others may have chosen the same type: "urni".
  static constexpr std::uint32_t kNoteMagic = 0x696e7275;
  /// Longer comments and notes are cut to this; bytes.
  static constexpr std::size_t kMostText = 4096;

  /// `program` has written the file, `interface` is the NIC.
  struct Names {
    std::string program;
    std::string interface;
    std::string description;
  };
  /// Errors: the same as CaptureFile::create()'s, and the first write's.
  static Result<std::unique_ptr<PcapngWriter>, Error> create(const std::string& path, nic::Medium medium,
                                                             const Names& names);

  void add(std::span<const std::byte> frame, std::chrono::nanoseconds time, FrameDirection direction,
           std::string_view comment) override;
  /// Frames so far: the number of the last one, as Wireshark counts.
  std::uint64_t frames() const { return frames_; }
  void add_note(std::string_view text);

 private:
  PcapngWriter(std::unique_ptr<CaptureFile> file, nic::Medium medium, const Names& names);
  void put_text(std::string_view text, char filler);
  void put_option(std::uint16_t code, std::string_view text);
  void add_section_header(const Names& names);
  void add_interface(nic::Medium medium, const Names& names);

  std::uint64_t frames_ = 0;
};

}  // namespace urnic::drivers
