// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/capture_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "tools/conformance/check/reading/erf.h"

namespace urnic::check {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int kLiveBufferBytes = 64 << 20;
constexpr int kLiveSnapBytes = 262144;
constexpr int kLiveTimeoutMs = 100;  // the kernel hands frames over in blocks, and no block later than this
constexpr std::chrono::milliseconds kTimeOfRest(2 * kLiveTimeoutMs);
constexpr std::chrono::milliseconds kPauseInRest(5);

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
  File file(std::fopen(path.c_str(), "rb"));
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
    reader.order_ = std::make_unique<TimeOrder>();
  }
  // One byte can be put back, of a pipe as well.
  const int first = std::fgetc(file.get());
  std::ungetc(first, file.get());
  if (first == Pcapng::kFirstByte) {
    reader.pcapng_file_ = std::move(file);
    reader.pcapng_.emplace(reader.pcapng_file_.get());
  } else if (!reader.open_pcap(std::move(file), why)) {
    return std::nullopt;
  }
  return reader;
}

bool CaptureReader::open_pcap(File file, std::string& why) {
  char reason[PCAP_ERRBUF_SIZE] = "";
  pcap_.reset(pcap_fopen_offline_with_tstamp_precision(file.get(), PCAP_TSTAMP_PRECISION_NANO, reason));
  if (!pcap_) {
    why = fmt::format("not a pcap or pcapng file: {}", reason);
    return false;
  }
  static_cast<void>(file.release());  // libpcap's now
  return take_link_type(why);
}

std::optional<CaptureReader> CaptureReader::open_live(const std::string& interface, std::string& why) {
  CaptureReader reader;
  char reason[PCAP_ERRBUF_SIZE] = "";
  reader.pcap_.reset(pcap_create(interface.c_str(), reason));
  if (!reader.pcap_) {
    why = reason;
    return std::nullopt;
  }
  pcap_t* const pcap = reader.pcap_.get();
  const int statuses[] = {
      pcap_set_snaplen(pcap, kLiveSnapBytes),
      pcap_set_promisc(pcap, 1),
      pcap_set_timeout(pcap, kLiveTimeoutMs),
      pcap_set_buffer_size(pcap, kLiveBufferBytes),
      pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO),
  };
  const auto refused = std::ranges::find_if(statuses, [](int status) { return status < 0; });
  const int status = refused != std::end(statuses) ? *refused : pcap_activate(pcap);
  if (status < 0) {
    const std::string detail = pcap_geterr(pcap);
    why = pcap_statustostr(status) + (detail.empty() ? "" : ": " + detail);
    return std::nullopt;
  }
  if (!reader.take_link_type(why)) return std::nullopt;
  return reader;
}

bool CaptureReader::take_link_type(std::string& why) {
  const int link_type = pcap_datalink(pcap_.get());
  link_type_ = static_cast<LinkType>(link_type);
  if (link_type_ == LinkType::kInfiniBand) {
    why = "packets of InfiniBand itself (link type 247) cannot be read: only RoCE, over Ethernet, can";
    return false;
  }
  if (!is_supported(link_type) && link_type_ != LinkType::kErf) {
    const char* const name = pcap_datalink_val_to_name(link_type);
    why = fmt::format("link type {} cannot be read; Ethernet, Linux cooked, raw IP and ERF can",
                      name != nullptr ? name : std::to_string(link_type));
    return false;
  }
  return true;
}

std::optional<RawFrame> CaptureReader::next() {
  if (!order_) return next_in_file();
  while (!order_->is_full()) {
    const auto frame = next_in_file();
    if (!frame) break;
    order_->add(*frame);
  }
  return order_->take();
}

std::optional<RawFrame> CaptureReader::next_in_file() {
  if (!error_.empty()) return std::nullopt;
  RawFrame frame;
  std::string why;
  switch (pcapng_ ? pcapng_->next(frame, why) : next_of_pcap(frame, why)) {
    case ReadResult::kFrame:
      break;
    case ReadResult::kDamage:
      error_ = fmt::format("damaged after frame {}: {}", frames_, why);
      return std::nullopt;
    case ReadResult::kEnd:
      return std::nullopt;
  }
  frame.number = ++frames_;
  if (frame.link_type == LinkType::kErf) open_erf(frame);
  return frame;
}

int CaptureReader::next_ex(pcap_pkthdr*& header, const u_char*& data) {
  while (!rest_until_ || Clock::now() < *rest_until_) {
    const int status = pcap_next_ex(pcap_.get(), &header, &data);
    // Of a file it is the end.
    if (status == PCAP_ERROR_BREAK && pcap_file(pcap_.get()) == nullptr) {
      begin_rest();
    } else if (status != 0) {
      return status;
    } else if (rest_until_) {
      std::this_thread::sleep_for(kPauseInRest);
    }
  }
  return PCAP_ERROR_BREAK;
}

void CaptureReader::begin_rest() {
  char reason[PCAP_ERRBUF_SIZE] = "";
  const bool is_nonblocking = pcap_setnonblock(pcap_.get(), 1, reason) == 0;
  rest_until_ = Clock::now() + (is_nonblocking ? kTimeOfRest : Clock::duration::zero());
}

ReadResult CaptureReader::next_of_pcap(RawFrame& frame, std::string& why) {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int status = next_ex(header, data);
  if (status == PCAP_ERROR_BREAK) return ReadResult::kEnd;
  if (status != 1) {
    why = pcap_geterr(pcap_.get());
    return ReadResult::kDamage;
  }
  // At nanosecond precision libpcap puts nanoseconds into tv_usec. A damaged file may hold any second.
  const auto seconds = static_cast<std::uint64_t>(header->ts.tv_sec) % (UINT64_C(1) << 33);
  frame.bytes = std::as_bytes(std::span(data, header->caplen));
  frame.wire_bytes = header->len;
  frame.time_ns = static_cast<std::int64_t>(seconds) * kNanosecondsPerSecond + header->ts.tv_usec;
  frame.link_type = link_type_;
  return ReadResult::kFrame;
}

void CaptureReader::stop() {
  pcap_breakloop(pcap_.get());
}

std::uint64_t CaptureReader::position() const {
  const long at = std::ftell(pcapng_ ? pcapng_file_.get() : pcap_file(pcap_.get()));
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

std::uint64_t CaptureReader::dropped() const {
  pcap_stat counts{};
  return pcap_ && pcap_stats(pcap_.get(), &counts) == 0 ? counts.ps_drop : 0;
}

}  // namespace urnic::check
