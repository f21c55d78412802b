// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icrc_identification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <variant>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/unit/transport/wire/captured.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::slice;
using test::with_u16;

constexpr std::size_t kIdentificationAt = 4;
const Bytes kHeaders = slice(test::kSendOfFive, test::kIpAt, 28);

/// A packet of so many bytes, BTH to padding, whose first ones Linux sent.
Bytes packet_of(std::size_t bytes) {
  Bytes packet = test::ib_of(test::kSendOfFive);
  packet.resize(bytes, std::byte{0xa5});
  return packet;
}

std::uint32_t icrc_with(std::uint16_t identification, const Bytes& ib) {
  return icrc_ipv4(with_u16(kHeaders, kIdentificationAt, identification), ib);
}

constexpr std::size_t kSizes[] = {12, 16, 92, 1040, 4124, 9000, 65000};

TEST(IcrcIdentification, SaysHowTheIcrcChangesForEveryLength) {
  IcrcIdentification identification;
  std::minstd_rand random(1);
  for (const std::size_t size : kSizes) {
    const Bytes ib = packet_of(size);
    const std::size_t behind = IcrcIdentification::bytes_behind(20, size);
    for (int i = 0; i < 50; ++i) {
      const auto one = static_cast<std::uint16_t>(random());
      const auto other = static_cast<std::uint16_t>(random());
      EXPECT_EQ(identification.icrc_change(one ^ other, behind), icrc_with(one, ib) ^ icrc_with(other, ib))
          << size;
    }
    EXPECT_EQ(identification.icrc_change(0, behind), 0u);
  }
}

TEST(IcrcIdentification, FindsEveryIdentification) {
  IcrcIdentification identification;
  for (const std::size_t size : kSizes) {
    const std::size_t behind = IcrcIdentification::bytes_behind(20, size);
    for (std::uint32_t change = 0; change <= 0xffff; ++change) {
      const std::uint32_t seen = identification.icrc_change(static_cast<std::uint16_t>(change), behind);
      ASSERT_EQ(identification.find(seen, behind), change) << size;
    }
  }
}

// Of 2^20 differences, some 16 belong to an identification.
TEST(IcrcIdentification, FindsNoneForWhatIsDamagedBut16BitsOfProtectionRemain) {
  IcrcIdentification identification;
  std::mt19937 random(1);
  const std::size_t behind = IcrcIdentification::bytes_behind(20, 1040);
  int found = 0;
  for (int i = 0; i < 1 << 20; ++i)
    found += identification.find(static_cast<std::uint32_t>(random()), behind).has_value() ? 1 : 0;
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 60);
}

TEST(IcrcIdentification, SeesEveryFlippedBitOfAPacketWhoseIdentificationIsUnknown) {
  IcrcIdentification identification;
  const Bytes ib = packet_of(92);
  const std::size_t behind = IcrcIdentification::bytes_behind(20, ib.size());
  const std::uint32_t sent = icrc_with(0x1234, ib);
  for (std::size_t at = 0; at < ib.size(); ++at) {
    if (at == 4) continue;  // the masked byte of the BTH
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = ib;
      damaged[at] ^= static_cast<std::byte>(1u << bit);
      EXPECT_EQ(identification.find(sent ^ icrc_with(0, damaged), behind), std::nullopt) << at << "." << bit;
    }
  }
}

/// For each IPv4 packet of a capture that others sent, as a UDP socket shows it: without its identification.
void expect_identifications_found(const std::filesystem::path& path, int& packets) {
  const auto frames = urnic::test::read_pcap(path);
  ASSERT_TRUE(frames) << frames.error().message;
  IcrcIdentification identification;
  for (const auto& captured : frames.value()) {
    const auto frame = parse_frame(captured.bytes);
    if (!frame || !frame.value().is_ipv4() || !frame.value().icrc_ok()) continue;
    const auto& ip = std::get<Ipv4>(frame.value().ip);
    const Bytes unknown = with_u16({frame.value().outer_headers.begin(), frame.value().outer_headers.end()},
                                   kIdentificationAt, 0);
    const std::uint32_t worked_out = icrc_ipv4(unknown, frame.value().ib);
    const std::size_t behind = IcrcIdentification::bytes_behind(ip.header_bytes(), frame.value().ib.size());
    EXPECT_EQ(identification.find(frame.value().icrc ^ worked_out, behind), ip.identification);
    ++packets;
  }
}

TEST(IcrcIdentification, FindsThoseThatLinuxSent) {
  int packets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(urnic::test::fixtures())) {
    if (entry.path().extension() == ".pcap") expect_identifications_found(entry.path(), packets);
  }
  EXPECT_GT(packets, 250);
}

TEST(IcrcIdentification, FindsThoseOfCapturesOutsideTheProject) {
  const std::filesystem::path folder = urnic::test::shared_captures() / "rxe";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no captures outside the project";
  int packets = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pcap") expect_identifications_found(entry.path(), packets);
  }
  EXPECT_GT(packets, 2000);
}

}  // namespace
}  // namespace urnic::transport::wire
