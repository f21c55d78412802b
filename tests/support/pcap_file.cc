// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/pcap_file.h"

#include <pcap/pcap.h>

#include <cerrno>
#include <memory>
#include <string>

namespace urnic::test {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int kSnapLength = 262144;

struct PcapCloser {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
struct DumperCloser {
  void operator()(pcap_dumper_t* dumper) const { pcap_dump_close(dumper); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;
using Dumper = std::unique_ptr<pcap_dumper_t, DumperCloser>;

Error error(const std::filesystem::path& path, const std::string& what) {
  return Error{.code = EIO, .message = path.string() + ": " + what};
}

}  // namespace

Result<std::vector<CapturedFrame>, Error> read_pcap(const std::filesystem::path& path) {
  char reason[PCAP_ERRBUF_SIZE] = "";
  const Pcap pcap(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, reason));
  if (!pcap) return error(path, reason);
  if (pcap_datalink(pcap.get()) != DLT_EN10MB) return error(path, "the link type is not Ethernet");
  std::vector<CapturedFrame> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int status = 0;
  while ((status = pcap_next_ex(pcap.get(), &header, &data)) == 1) {
    const auto bytes = std::as_bytes(std::span(data, header->caplen));
    // At nanosecond precision libpcap puts nanoseconds into tv_usec.
    frames.push_back(
        CapturedFrame{.bytes = {bytes.begin(), bytes.end()},
                      .bytes_on_wire = header->len,
                      .time_ns = header->ts.tv_sec * kNanosecondsPerSecond + header->ts.tv_usec});
  }
  if (status != PCAP_ERROR_BREAK) return error(path, pcap_geterr(pcap.get()));
  return frames;
}

Result<void, Error> write_pcap(const std::filesystem::path& path, std::span<const CapturedFrame> frames) {
  const Pcap pcap(pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength, PCAP_TSTAMP_PRECISION_NANO));
  const Dumper dumper(pcap_dump_open(pcap.get(), path.c_str()));
  if (!dumper) return error(path, pcap_geterr(pcap.get()));
  for (const CapturedFrame& frame : frames) {
    pcap_pkthdr header{};
    header.ts.tv_sec = frame.time_ns / kNanosecondsPerSecond;
    header.ts.tv_usec = frame.time_ns % kNanosecondsPerSecond;
    header.caplen = static_cast<bpf_u_int32>(frame.bytes.size());
    header.len = static_cast<bpf_u_int32>(frame.bytes_on_wire);
    pcap_dump(reinterpret_cast<u_char*>(dumper.get()), &header,
              reinterpret_cast<const u_char*>(frame.bytes.data()));
  }
  if (pcap_dump_flush(dumper.get()) != 0) return error(path, "cannot be written to the end");
  return success();
}

}  // namespace urnic::test
