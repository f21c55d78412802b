// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/pcapng_extras.h"

#include <algorithm>
#include <array>
#include <boost/endian/conversion.hpp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

// The format is from draft-ietf-opsawg-pcapng; the notes in it are from drivers/pcap/RECORDING.md.
namespace urnic::view {
namespace {

using Bytes = std::span<const char>;

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kOldPacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kPacket = 6;
constexpr std::uint32_t kNote = 0x80000bad;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::string_view kNoteMagic = "urni";

constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kApplication = 4;

/// A frame of 256 KiB, and its options. What is longer is not read.
constexpr std::size_t kLongestBlock = 1 << 20;
constexpr std::size_t kBlockHeader = 8;
constexpr std::size_t kBlockOverhead = 12;

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

/// Goes from block to block.
class Reader {
 public:
  explicit Reader(std::istream& file) : file_(file) {}

  /// Whether there is another one; one that is too long has an empty body.
  bool next() {
    std::array<char, kBlockHeader> header{};
    if (!file_.read(header.data(), header.size())) return false;
    // The type of a section header reads the same in both orders; its first word tells the order.
    if (raw_u32(header) == kSectionHeader) {
      std::array<char, 4> magic{};
      if (!file_.read(magic.data(), magic.size())) return false;
      is_swapped_ = raw_u32(magic) != kByteOrderMagic;
      if (number(raw_u32(magic)) != kByteOrderMagic) return false;
      file_.seekg(-static_cast<std::streamoff>(magic.size()), std::ios::cur);
    }
    type_ = u32(header, 0);
    const std::size_t length = u32(header, 4);
    if (length < kBlockOverhead || length % 4 != 0) return false;
    const std::size_t rest = length - kBlockHeader;
    body_.clear();
    if (length > kLongestBlock) return static_cast<bool>(file_.ignore(static_cast<std::streamsize>(rest)));
    body_.resize(rest);
    if (!file_.read(body_.data(), static_cast<std::streamsize>(rest))) return false;
    body_.resize(rest - 4);  // without the length at its end
    return true;
  }

  std::uint32_t type() const { return type_; }
  Bytes body() const { return body_; }

  std::uint32_t u32(Bytes bytes, std::size_t at) const { return number(raw_u32(bytes.subspan(at))); }
  std::uint16_t u16(Bytes bytes, std::size_t at) const {
    std::uint16_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return is_swapped_ ? boost::endian::endian_reverse(value) : value;
  }

  /// The first of that code among options, which begin at `at`.
  std::optional<Bytes> option(std::size_t at, std::uint16_t code) const {
    Bytes rest = at < body_.size() ? Bytes(body_).subspan(at) : Bytes();
    while (rest.size() >= 4) {
      const std::uint16_t found = u16(rest, 0);
      const std::size_t length = u16(rest, 2);
      if (found == 0 || 4 + length > rest.size()) return std::nullopt;
      if (found == code) return rest.subspan(4, length);
      rest = rest.subspan(std::min(rest.size(), 4 + padded(length)));
    }
    return std::nullopt;
  }
  std::string text(std::size_t at, std::uint16_t code) const {
    const auto found = option(at, code);
    return found ? std::string(found->data(), std::min(found->size(), kMostText)) : std::string();
  }

 private:
  static std::uint32_t raw_u32(Bytes bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::uint32_t number(std::uint32_t value) const {
    return is_swapped_ ? boost::endian::endian_reverse(value) : value;
  }

  std::istream& file_;
  bool is_swapped_ = false;
  std::uint32_t type_ = 0;
  std::vector<char> body_;
};

/// Where the options of a packet begin.
std::size_t options_of_packet(const Reader& reader) {
  constexpr std::size_t kFixed = 20;
  constexpr std::size_t kCapturedBytes = 12;
  if (reader.body().size() < kFixed) return reader.body().size();
  return kFixed + padded(reader.u32(reader.body(), kCapturedBytes));
}

Way way_of(const Reader& reader, std::size_t options) {
  const auto flags = reader.option(options, kPacketFlags);
  if (!flags || flags->size() < 4) return Way::kUnknown;
  switch (reader.u32(*flags, 0) & 3u) {
    case 1:
      return Way::kReceived;
    case 2:
      return Way::kSent;
    default:
      return Way::kUnknown;
  }
}

std::optional<Note> note_in(Bytes body) {
  const std::string_view text(body.data(), body.size());
  if (!text.starts_with(kNoteMagic)) return std::nullopt;
  Note note = Note::parse(text.substr(kNoteMagic.size()), nullptr, false);
  const bool is_note = note.is_object() && note.contains("urnic") && note["urnic"].is_string() &&
                       note.contains("time_ns") && note["time_ns"].is_number_integer();
  return is_note ? std::optional(std::move(note)) : std::nullopt;
}

}  // namespace

PcapngExtras read_pcapng_extras(std::istream& file) {
  constexpr std::size_t kOptionsOfSection = 16;
  constexpr std::size_t kOptionsOfInterface = 8;
  PcapngExtras extras;
  Reader reader(file);
  std::uint64_t frames = 0;
  bool is_first = true;
  while (reader.next()) {
    if (is_first && reader.type() != kSectionHeader) break;
    is_first = false;
    switch (reader.type()) {
      case kSectionHeader:
        if (extras.program.empty()) extras.program = reader.text(kOptionsOfSection, kApplication);
        break;
      case kInterface:
        if (extras.interface.empty()) extras.interface = reader.text(kOptionsOfInterface, kInterfaceName);
        break;
      case kOldPacket:
      case kSimplePacket:
        ++frames;
        break;
      case kPacket: {
        ++frames;
        const std::size_t options = options_of_packet(reader);
        FrameExtras frame{.way = way_of(reader, options), .comment = reader.text(options, kComment)};
        if (frame.way != Way::kUnknown || !frame.comment.empty()) {
          extras.frames.emplace(frames, std::move(frame));
        }
        break;
      }
      case kNote:
        if (extras.notes.size() >= kMostNotes) {
          ++extras.omitted_notes;
        } else if (auto note = note_in(reader.body())) {
          extras.notes.push_back(std::move(*note));
        }
        break;
      default:
        break;
    }
  }
  return extras;
}

}  // namespace urnic::view
