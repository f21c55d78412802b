// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/pcap_writer.h"

#include <algorithm>

#include "drivers/pcap/link_type.h"

namespace urnic::drivers {
namespace {

// The numbers of the format are in the writer's byte order; readers tell which by the magic.
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint16_t kMajorVersion = 2;
constexpr std::uint16_t kMinorVersion = 4;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kRecordHeaderBytes = 16;

}  // namespace

Result<std::unique_ptr<PcapWriter>, Error> PcapWriter::create(const std::string& path, nic::Medium medium) {
  auto file = CaptureFile::create(path);
  if (!file) return file.error();
  std::unique_ptr<PcapWriter> writer(new PcapWriter(std::move(file.value()), medium));
  if (writer->file().has_stopped()) return writer->file().cannot_be_written();
  return writer;
}

PcapWriter::PcapWriter(std::unique_ptr<CaptureFile> opened, nic::Medium medium)
    : FrameWriter(std::move(opened)) {
  file().begin(kFileHeaderBytes);
  file().put_u32(kMagicNanoseconds);
  file().put_u16(kMajorVersion);
  file().put_u16(kMinorVersion);
  file().put_u32(0);  // offset to UTC, which no reader uses
  file().put_u32(0);  // accuracy of the times, likewise
  file().put_u32(kSnapBytes);
  file().put_u32(link_type_of(medium));
  file().write_out();
}

void PcapWriter::add(std::span<const std::byte> frame, std::chrono::nanoseconds time,
                     FrameDirection /*direction*/, std::string_view /*comment*/) {
  const std::size_t kept = std::min(frame.size(), kSnapBytes);
  if (!file().begin(kRecordHeaderBytes + kept)) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  file().put_u32(static_cast<std::uint32_t>(seconds.count()));
  file().put_u32(static_cast<std::uint32_t>((time - seconds).count()));
  file().put_u32(static_cast<std::uint32_t>(kept));
  file().put_u32(static_cast<std::uint32_t>(frame.size()));
  file().put(frame.first(kept));
}

}  // namespace urnic::drivers
