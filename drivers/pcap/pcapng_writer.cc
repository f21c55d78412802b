// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/pcapng_writer.h"

#include <algorithm>
#include <cstring>

#include "drivers/pcap/link_type.h"

// The format is from draft-ietf-opsawg-pcapng: blocks of type, length, body, length again, each a multiple of
// 4 bytes.
namespace urnic::drivers {
namespace {

constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t kUnknownSectionLength = 0xffffffff;

/// Type, length, and length again.
constexpr std::size_t kBlockBytes = 12;
constexpr std::size_t kOptionBytes = 4;

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kInterfaceDescription = 3;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kPacketFlags = 2;

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

std::size_t option_bytes(std::string_view text) {
  return text.empty() ? 0 : kOptionBytes + padded(text.size());
}

std::string_view cut(std::string_view text) {
  return text.substr(0, PcapngWriter::kMostText);
}

}  // namespace

Result<std::unique_ptr<PcapngWriter>, Error> PcapngWriter::create(const std::string& path, nic::Medium medium,
                                                                  const Names& names) {
  auto file = CaptureFile::create(path);
  if (!file) return file.error();
  std::unique_ptr<PcapngWriter> writer(new PcapngWriter(std::move(file.value()), medium, names));
  if (writer->file().has_stopped()) return writer->file().cannot_be_written();
  return writer;
}

PcapngWriter::PcapngWriter(std::unique_ptr<CaptureFile> opened, nic::Medium medium, const Names& names)
    : FrameWriter(std::move(opened)) {
  add_section_header(names);
  add_interface(medium, names);
  file().write_out();
}

void PcapngWriter::add_section_header(const Names& names) {
  const std::string_view program = cut(names.program);
  const auto bytes = static_cast<std::uint32_t>(kBlockBytes + 16 + option_bytes(program) + kOptionBytes);
  file().begin(bytes);
  file().put_u32(kSectionHeaderBlock);
  file().put_u32(bytes);
  file().put_u32(kByteOrderMagic);
  file().put_u16(1);  // version 1.0
  file().put_u16(0);
  file().put_u32(kUnknownSectionLength);
  file().put_u32(kUnknownSectionLength);
  put_option(kApplication, program);
  put_option(kEndOfOptions, {});
  file().put_u32(bytes);
}

void PcapngWriter::add_interface(nic::Medium medium, const Names& names) {
  const std::string_view interface = cut(names.interface);
  const std::string_view description = cut(names.description);
  const std::string_view nanoseconds("\x09", 1);
  const auto bytes =
      static_cast<std::uint32_t>(kBlockBytes + 8 + option_bytes(interface) + option_bytes(description) +
                                 option_bytes(nanoseconds) + kOptionBytes);
  file().begin(bytes);
  file().put_u32(kInterfaceBlock);
  file().put_u32(bytes);
  file().put_u16(link_type_of(medium));
  file().put_u16(0);
  file().put_u32(kSnapBytes);
  put_option(kInterfaceName, interface);
  put_option(kInterfaceDescription, description);
  put_option(kTimeResolution, nanoseconds);
  put_option(kEndOfOptions, {});
  file().put_u32(bytes);
}

void PcapngWriter::add(std::span<const std::byte> frame, std::chrono::nanoseconds time,
                       FrameDirection direction, std::string_view comment) {
  ++frames_;
  const std::size_t kept = std::min(frame.size(), kSnapBytes);
  const std::string_view said = cut(comment);
  const std::uint32_t flags = direction == FrameDirection::kReceived ? 1 : 2;
  const auto bytes = static_cast<std::uint32_t>(kBlockBytes + 20 + padded(kept) + option_bytes(said) +
                                                kOptionBytes + sizeof flags + kOptionBytes);
  if (!file().begin(bytes)) return;
  const auto since_1970 = static_cast<std::uint64_t>(time.count());
  file().put_u32(kPacketBlock);
  file().put_u32(bytes);
  file().put_u32(0);  // the interface
  file().put_u32(static_cast<std::uint32_t>(since_1970 >> 32));
  file().put_u32(static_cast<std::uint32_t>(since_1970));
  file().put_u32(static_cast<std::uint32_t>(kept));
  file().put_u32(static_cast<std::uint32_t>(frame.size()));
  file().put(frame.first(kept));
  constexpr std::byte kPad[3] = {};
  file().put(std::span(kPad).first(padded(kept) - kept));
  put_option(kComment, said);
  put_option(kPacketFlags, {reinterpret_cast<const char*>(&flags), sizeof flags});
  put_option(kEndOfOptions, {});
  file().put_u32(bytes);
}

// Its length is a multiple of 4, and is not told: what JSON ends with may be blanks.
void PcapngWriter::add_note(std::string_view text) {
  const std::string_view said = cut(text);
  const auto bytes = static_cast<std::uint32_t>(kBlockBytes + sizeof kNoteMagic + padded(said.size()));
  if (!file().begin(bytes)) return;
  file().put_u32(kNoteBlock);
  file().put_u32(bytes);
  file().put_u32(kNoteMagic);
  put_text(said, ' ');
  file().put_u32(bytes);
}

void PcapngWriter::put_option(std::uint16_t code, std::string_view text) {
  if (code != kEndOfOptions && text.empty()) return;
  file().put_u16(code);
  file().put_u16(static_cast<std::uint16_t>(text.size()));
  put_text(text, '\0');
}

void PcapngWriter::put_text(std::string_view text, char filler) {
  file().put(std::as_bytes(std::span(text)));
  const char fill[3] = {filler, filler, filler};
  file().put(std::as_bytes(std::span(fill)).first(padded(text.size()) - text.size()));
}

}  // namespace urnic::drivers
