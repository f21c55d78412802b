// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/captured_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "transport/wire/frame.h"

namespace urnic::transport::test {
namespace {

namespace fs = std::filesystem;

constexpr std::byte kMigReq{0x40};

std::vector<CapturedPacket> packets_of(const fs::path& path) {
  const auto frames = urnic::test::read_pcap(path);
  EXPECT_TRUE(frames) << frames.error().message;
  if (!frames) return {};
  std::vector<CapturedPacket> packets;
  for (const urnic::test::CapturedFrame& captured : frames.value()) {
    const auto frame = wire::parse_frame(captured.bytes);
    if (!frame) continue;
    const auto ip = frame.value().outer_headers.first(frame.value().is_ipv4() ? 20 : 40);
    const auto ib = frame.value().ib;
    packets.push_back({.ib = Bytes(ib.begin(), ib.end()), .network_header = Bytes(ip.begin(), ip.end())});
  }
  return packets;
}

}  // namespace

wire::Packet CapturedPacket::view() const {
  wire::Packet packet;
  EXPECT_FALSE(packet.read(ib).has_value());
  packet.network_header = network_header;
  return packet;
}

Bytes CapturedPacket::with_migration_state() const {
  Bytes bytes = ib;
  bytes[1] |= kMigReq;
  return bytes;
}

std::vector<CapturedPacket> captured_in(const std::string& name) {
  return packets_of(urnic::test::fixtures() / (name + ".pcap"));
}

std::vector<CapturedPacket> captured_outside(const std::string& name) {
  const fs::path path = urnic::test::shared_captures() / "rxe" / (name + ".pcap");
  return fs::exists(path) ? packets_of(path) : std::vector<CapturedPacket>();
}

std::vector<CapturedPacket> from_host(const std::vector<CapturedPacket>& packets, std::uint8_t host) {
  std::vector<CapturedPacket> found;
  std::copy_if(packets.begin(), packets.end(), std::back_inserter(found), [&](const CapturedPacket& packet) {
    const std::size_t last_of_source = packet.network_header.size() == 20 ? 15 : 23;
    return packet.network_header[last_of_source] == std::byte{host};
  });
  return found;
}

Bytes payloads_of(const std::vector<CapturedPacket>& packets) {
  Bytes all;
  for (const CapturedPacket& packet : packets) {
    const auto payload = packet.view().payload;
    all.insert(all.end(), payload.begin(), payload.end());
  }
  return all;
}

std::vector<Bytes> as_we_send(const std::vector<CapturedPacket>& packets) {
  std::vector<Bytes> all;
  for (const CapturedPacket& packet : packets) all.push_back(packet.with_migration_state());
  return all;
}

Bytes captured_pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8) + 1);
  return bytes;
}

}  // namespace urnic::transport::test
