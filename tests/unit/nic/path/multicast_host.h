// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MulticastHost: multicast reports with a clock and a wire, for tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/unit/nic/path/neighbor_host.h"
#include "transport/time.h"

namespace urnic::nic::test {

/// A frame, and when it left.
struct SentReport {
  transport::Time at;
  Bytes frame;
};

class MulticastHost {
 public:
  explicit MulticastHost(const DeviceConfig& config = config_of_host(1))
      : reports_(config, GidTable(config)) {}

  void join(std::string_view group) { reports_.join(gid(group), now_); }
  void leave(std::string_view group) { reports_.leave(gid(group), now_); }
  bool receive(std::span<const std::byte> frame) { return reports_.on_frame(frame, now_); }

  /// Lets time pass, in steps as the reports ask for them, and keeps what is sent meanwhile.
  void run_for(transport::Duration duration) {
    const transport::Time end = now_ + duration;
    while (reports_.next_timeout() <= end) {
      now_ = std::max(now_, reports_.next_timeout());
      transmit();
    }
    now_ = end;
  }
  /// Everything sent since the last call.
  std::vector<SentReport> take_reports() {
    transmit();
    return std::exchange(sent_, {});
  }
  std::vector<Bytes> take_sent() {
    std::vector<Bytes> frames;
    for (SentReport& sent : take_reports()) frames.push_back(std::move(sent.frame));
    return frames;
  }
  /// Both reports of each join before, forgotten.
  MulticastHost& after_joins() {
    run_for(2s);
    take_sent();
    return *this;
  }

  MulticastReports& reports() { return reports_; }
  transport::Time now() const { return now_; }

 private:
  void transmit() {
    std::array<std::byte, MulticastReports::kMaxFrameBytes> frame;
    while (const std::size_t size = reports_.poll_transmit(frame, now_)) {
      sent_.push_back({now_, Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size))});
    }
  }

  MulticastReports reports_;
  transport::Time now_{transport::Duration(1s)};
  std::vector<SentReport> sent_;
};

/// Frame `number` of pcap_fixtures/igmp_mld_linux.pcap, as Wireshark counts: host 1 is config_of_host(1), and
/// a bridge asks.
inline Bytes linux_multicast_frame(std::size_t number) {
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / "igmp_mld_linux.pcap");
  return frames ? frames.value().at(number - 1).bytes : Bytes();
}

// Its frames by name.
inline constexpr std::size_t kJoin3 = 2;
inline constexpr std::size_t kAnswer3 = 15;
inline constexpr std::size_t kLeave3 = 16;
inline constexpr std::size_t kGeneralQuery3 = 6;
inline constexpr std::size_t kGroupQuery3 = 17;
inline constexpr std::size_t kReport2 = 34;
inline constexpr std::size_t kLeave2 = 40;
inline constexpr std::size_t kGeneralQuery2 = 28;
inline constexpr std::size_t kMldJoin2 = 3;
inline constexpr std::size_t kMldLeave2 = 18;
inline constexpr std::size_t kMldGeneralQuery2 = 5;
inline constexpr std::size_t kMldGroupQuery2 = 19;
inline constexpr std::size_t kMldReport1 = 33;
inline constexpr std::size_t kMldDone1 = 42;
inline constexpr std::size_t kMldGeneralQuery1 = 27;

// The groups in it.
inline constexpr auto kGroup = "::ffff:239.9.9.9";
inline constexpr auto kIpv6Group = "ff1e::1234";

}  // namespace urnic::nic::test
