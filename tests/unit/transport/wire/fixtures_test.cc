// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Every captured frame parses, has the ICRC that we would give it, and comes out of our writers unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/transport/wire/captured.h"
#include "transport/wire/arp.h"
#include "transport/wire/frame.h"
#include "transport/wire/icmpv6_nd.h"
#include "transport/wire/packet.h"

namespace urnic::transport::wire {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::slice;
using urnic::test::CapturedFrame;
using urnic::test::fixtures;
using urnic::test::read_pcap;
using urnic::test::shared_captures;

std::vector<CapturedFrame> frames_of(const fs::path& path) {
  return urnic::test::value_of(read_pcap(path));
}

void expect_headers_come_out_unchanged(const Frame& frame) {
  const auto packet = parse_packet(frame.ib);
  ASSERT_TRUE(packet) << to_string(packet.error());
  Bytes headers(header_bytes(packet.value().bth.opcode));
  ASSERT_EQ(emit_headers(packet.value(), headers), headers.size());
  EXPECT_EQ(headers, slice(frame.ib, 0, headers.size())) << packet.value().info->name;
  if (packet.value().info->has_payload) {
    EXPECT_EQ(headers.size() + packet.value().payload.size() + packet.value().bth.pad_count, frame.ib.size());
  }
}

void expect_frame_comes_out_unchanged(const Bytes& bytes) {
  const auto parsed = parse_frame(bytes);
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  const Frame& frame = parsed.value();
  EXPECT_TRUE(frame.icrc_ok());
  EXPECT_EQ(icrc_of(frame), frame.icrc);
  expect_headers_come_out_unchanged(frame);

  Bytes out(bytes.size());
  ASSERT_EQ(emit_frame(frame, out), bytes.size());
  EXPECT_EQ(out, bytes);
}

/// Checks the frames of a file and returns how many there were.
std::size_t check_capture(const fs::path& path) {
  std::size_t checked = 0;
  std::size_t number = 0;
  for (const CapturedFrame& frame : frames_of(path)) {
    ++number;
    SCOPED_TRACE(path.filename().string() + ", frame " + std::to_string(number));
    if (frame.is_truncated()) continue;
    expect_frame_comes_out_unchanged(frame.bytes);
    ++checked;
  }
  return checked;
}

std::vector<fs::path> captures_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The programs that captured gave these counts, see pcap_fixtures/README.md.
TEST(Fixtures, ComeOutUnchanged) {
  const std::map<std::string, std::size_t> frames = {
      {"mckey", 5},
      {"rping_ipv6", 41},
      {"vs_atomic_noperm", 2},
      {"vs_atomics", 10},
      {"vs_duplicate", 34},
      {"vs_imm_inv", 25},
      {"vs_loss_requests", 76},
      {"vs_loss_uc", 28},
      {"vs_peer_dead", 4},
      {"vs_rnr", 40},
      {"vs_send_toolong", 6},
      {"vs_sizes", 58},
      {"vs_tos", 4},
      {"vs_uc_mtu4096", 7},
      {"vs_ud", 9},
      {"vs_ud_ipv6", 3},
      {"vs_write_badkey", 4},
  };
  for (const auto& [name, count] : frames) {
    EXPECT_EQ(check_capture(fixtures() / (name + ".pcap")), count) << name;
  }
}

// Frames 1 to 4, 9 and 10 are neighbor discovery, 7 and 8 ARP; the others are router solicitations and an
// error.
TEST(Fixtures, HoldArpAndNeighborDiscovery) {
  const auto frames = frames_of(fixtures() / "arp_nd_linux.pcap");
  ASSERT_EQ(frames.size(), 13u);
  for (std::size_t number = 1; number <= frames.size(); ++number) {
    SCOPED_TRACE(number);
    const Bytes& bytes = frames[number - 1].bytes;
    const auto behind_ethernet = std::span(bytes).subspan(Ethernet::kMinBytes);
    const auto frame = parse_frame(bytes);
    ASSERT_FALSE(frame);
    const bool is_arp = number == 7 || number == 8;
    EXPECT_EQ(frame.error(), is_arp ? ParseError::kNotIp : ParseError::kNotUdp);
    EXPECT_EQ(Arp::parse(behind_ethernet).has_value(), is_arp);
    EXPECT_EQ(NeighborMessage::parse(behind_ethernet).has_value(),
              number <= 4 || number == 9 || number == 10);
  }
}

TEST(CapturesOutsideTheProject, ComeOutUnchanged) {
  if (!fs::is_directory(shared_captures())) {
    GTEST_SKIP() << "no captures in " << shared_captures() << "; set URNIC_SHARED to the folder above them";
  }
  std::size_t checked = 0;
  for (const fs::path& path : captures_below(shared_captures())) checked += check_capture(path);
  EXPECT_GT(checked, 2000u);
}

TEST(CapturesOutsideTheProject, HaveRoceV1OfAConnectX) {
  const fs::path path = shared_captures() / "public/connectx_rocev1_write_ack.pcap";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto frames = frames_of(path);
  ASSERT_EQ(frames.size(), 2u);
  for (const CapturedFrame& frame : frames) {
    expect_frame_comes_out_unchanged(frame.bytes);
    const auto parsed = parse_frame(frame.bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed.value().encapsulation, Encapsulation::kRoceV1);
    EXPECT_EQ(to_string(parsed.value().destination_gid()), "::ffff:15.0.0.2");
  }
}

TEST(PcapFile, ReadsWhatItWrote) {
  const fs::path path = fs::path(::testing::TempDir()) / "urnic_pcap_file_test.pcap";
  const std::vector<CapturedFrame> frames = {
      {.bytes = test::kEmptySend,
       .bytes_on_wire = test::kEmptySend.size(),
       .time_ns = 1'795'188'850'972'721'003},
      {.bytes = slice(test::kSendOfFive, 0, 20), .bytes_on_wire = test::kSendOfFive.size(), .time_ns = 0}};
  ASSERT_TRUE(write_pcap(path, frames));
  const auto read = frames_of(path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].bytes, test::kEmptySend);
  EXPECT_EQ(read[0].time_ns, 1'795'188'850'972'721'003);
  EXPECT_FALSE(read[0].is_truncated());
  EXPECT_TRUE(read[1].is_truncated());
  EXPECT_EQ(read[1].bytes.size(), 20u);
  fs::remove(path);
  EXPECT_FALSE(read_pcap(path));
}

}  // namespace
}  // namespace urnic::transport::wire
