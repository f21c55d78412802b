// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/capture_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace urnic::check {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

const char* hint_about(std::FILE* file) {
  unsigned char magic[4] = {};
  const std::size_t read = std::fread(magic, 1, sizeof magic, file);
  std::rewind(file);
  if (read >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) return "it is compressed: gunzip it first";
  if (read >= 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) {
    return "it is compressed: unzstd it first";
  }
  return read == 0 ? "the file is empty" : nullptr;
}

}  // namespace

std::optional<CaptureReader> CaptureReader::open(const std::string& path, std::string& why) {
  const auto system_reason = [] { return std::generic_category().message(errno); };
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    why = system_reason();
    return std::nullopt;
  }
  struct stat status {};
  CaptureReader reader;
  if (fstat(fileno(file.get()), &status) != 0) {
    why = system_reason();
    return std::nullopt;
  }
  if (S_ISDIR(status.st_mode)) {
    why = "is a folder";
    return std::nullopt;
  }
  reader.buffer_ = std::make_unique<char[]>(kBufferBytes);
  std::setvbuf(file.get(), reader.buffer_.get(), _IOFBF, kBufferBytes);
  if (S_ISREG(status.st_mode)) {
    reader.size_ = static_cast<std::uint64_t>(status.st_size);
    if (const char* const hint = hint_about(file.get())) {
      why = fmt::format("not a capture: {}", hint);
      return std::nullopt;
    }
  }
  char reason[PCAP_ERRBUF_SIZE] = "";
  reader.pcap_.reset(
      pcap_fopen_offline_with_tstamp_precision(file.get(), PCAP_TSTAMP_PRECISION_NANO, reason));
  if (!reader.pcap_) {
    why = fmt::format("not a pcap or pcapng file: {}", reason);
    return std::nullopt;
  }
  static_cast<void>(file.release());  // libpcap's now
  const int link_type = pcap_datalink(reader.pcap_.get());
  if (!is_supported(link_type)) {
    const char* const name = pcap_datalink_val_to_name(link_type);
    why = fmt::format("link type {} cannot be read; Ethernet, Linux cooked and raw IP can",
                      name != nullptr ? name : std::to_string(link_type));
    return std::nullopt;
  }
  reader.link_type_ = static_cast<LinkType>(link_type);
  return reader;
}

std::optional<RawFrame> CaptureReader::next() {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int status = pcap_next_ex(pcap_.get(), &header, &data);
  if (status != 1) {
    if (status != PCAP_ERROR_BREAK) {
      error_ = fmt::format("damaged after frame {}: {}", frames_, pcap_geterr(pcap_.get()));
    }
    return std::nullopt;
  }
  ++frames_;
  // At nanosecond precision libpcap puts nanoseconds into tv_usec. A damaged file may hold any second.
  const auto seconds = static_cast<std::uint64_t>(header->ts.tv_sec) % (UINT64_C(1) << 33);
  return RawFrame{.bytes = std::as_bytes(std::span(data, header->caplen)),
                  .wire_bytes = header->len,
                  .time_ns = static_cast<std::int64_t>(seconds) * kNanosecondsPerSecond + header->ts.tv_usec,
                  .number = frames_};
}

std::uint64_t CaptureReader::position() const {
  const long at = std::ftell(pcap_file(pcap_.get()));
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

}  // namespace urnic::check
