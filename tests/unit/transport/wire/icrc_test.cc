// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icrc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "tests/support/bitwise_crc32.h"
#include "tests/unit/transport/wire/captured.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::operator+;
using test::hex;
using test::slice;

/// Facts 1 and 2 word for word: `masked` are offsets into headers + ib that count as 0xff.
std::uint32_t reference_icrc(Bytes headers_and_ib, const std::set<std::size_t>& masked) {
  for (const std::size_t at : masked) headers_and_ib.at(at) = std::byte{0xff};
  return urnic::test::bitwise_crc32(Bytes(8, std::byte{0xff}) + headers_and_ib);
}

// TOS, TTL, header checksum; UDP checksum; FECN, BECN and the bits after them.
const std::set<std::size_t> kMaskedIpv4 = {1, 8, 10, 11, 20 + 6, 20 + 7, 28 + 4};
const Bytes kHeadersIpv4 = slice(test::kSendOfFive, test::kIpAt, 28);
const Bytes kHeadersIpv6 = slice(test::kUdSendIpv6, test::kIpAt, 48);
const Bytes kGrh = slice(test::kRoceV1Send, test::kIpAt, 40);
const Bytes kIbIpv6 = slice(test::kUdSendIpv6, test::kBthAtIpv6, 28);

Bytes ramp(std::size_t size) {
  Bytes bytes(size);
  std::generate(bytes.begin(), bytes.end(),
                [next = 0u]() mutable { return static_cast<std::byte>(next++ * 7 + 1); });
  return bytes;
}

TEST(Icrc, IsWhatLinuxSentOverIpv4) {
  const Bytes carried = slice(test::kSendOfFive, test::kSendOfFive.size() - 4, 4);
  EXPECT_EQ(icrc_ipv4(kHeadersIpv4, test::ib_of(test::kSendOfFive)), load_icrc(carried));
}

TEST(Icrc, IsWhatLinuxSentOverIpv6) {
  const Bytes carried = slice(test::kUdSendIpv6, test::kUdSendIpv6.size() - 4, 4);
  EXPECT_EQ(icrc_ipv6(kHeadersIpv6, kIbIpv6), load_icrc(carried));
}

TEST(Icrc, IsTheSameAsAnotherProgramsOfAGrh) {
  const Bytes carried = slice(test::kRoceV1Send, test::kRoceV1Send.size() - 4, 4);
  EXPECT_EQ(icrc_grh(kGrh, test::ib_of(test::kSendOfFive)), load_icrc(carried));
}

TEST(Icrc, CoversEveryBitOfAGrhThatNoRouterMayChange) {
  const Bytes ib = test::ib_of(test::kSendOfFive);
  const std::uint32_t right = icrc_grh(kGrh, ib);
  for (std::size_t bit = 0; bit < (kGrh.size() + ib.size()) * 8; ++bit) {
    Bytes all = kGrh + ib;
    all[bit / 8] ^= static_cast<std::byte>(0x80u >> bit % 8);
    const bool is_masked = (bit >= 4 && bit < 32) || bit / 8 == 7 || bit / 8 == 40 + 4;
    const std::uint32_t other = icrc_grh(slice(all, 0, 40), slice(all, 40, ib.size()));
    EXPECT_EQ(other == right, is_masked) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST(Icrc, CoversEveryIpv4BitThatNoRouterMayChange) {
  const Bytes ib = test::ib_of(test::kSendOfFive);
  const std::uint32_t right = icrc_ipv4(kHeadersIpv4, ib);
  for (std::size_t bit = 0; bit < (kHeadersIpv4.size() + ib.size()) * 8; ++bit) {
    Bytes all = kHeadersIpv4 + ib;
    all[bit / 8] ^= static_cast<std::byte>(0x80u >> bit % 8);
    const std::uint32_t other = icrc_ipv4(slice(all, 0, 28), slice(all, 28, ib.size()));
    EXPECT_EQ(other == right, kMaskedIpv4.contains(bit / 8)) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST(Icrc, CoversEveryIpv6BitThatNoRouterMayChange) {
  const std::uint32_t right = icrc_ipv6(kHeadersIpv6, kIbIpv6);
  for (std::size_t bit = 0; bit < (kHeadersIpv6.size() + kIbIpv6.size()) * 8; ++bit) {
    Bytes all = kHeadersIpv6 + kIbIpv6;
    all[bit / 8] ^= static_cast<std::byte>(0x80u >> bit % 8);
    // The version is covered; traffic class and flow label, which fill the first word after it, are not.
    const bool first_word = bit >= 4 && bit < 32;
    const std::set<std::size_t> masked = {7, 40 + 6, 40 + 7, 48 + 4};
    const std::uint32_t other = icrc_ipv6(slice(all, 0, 48), slice(all, 48, kIbIpv6.size()));
    EXPECT_EQ(other == right, first_word || masked.contains(bit / 8))
        << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

// Lengths around the implementation's seam between copied and referenced bytes, and around path MTUs.
TEST(Icrc, AgreesWithABitwiseCrcForEveryLength) {
  const auto expect_agreement = [](std::size_t size) {
    const Bytes ib = ramp(size);
    EXPECT_EQ(icrc_ipv4(kHeadersIpv4, ib), reference_icrc(kHeadersIpv4 + ib, kMaskedIpv4)) << size;
  };
  for (std::size_t size = 12; size <= 140; ++size) expect_agreement(size);
  for (const std::size_t size : {1036u, 1040u, 4108u, 4112u, 4144u}) expect_agreement(size);
}

TEST(Icrc, CoversIpv4Options) {
  for (std::size_t options = 4; options <= 40; options += 4) {
    const Bytes ip = slice(kHeadersIpv4, 0, 20) + ramp(options);
    const Bytes headers = ip + slice(kHeadersIpv4, 20, 8);
    const Bytes ib = ramp(64);
    const std::set<std::size_t> masked = {1, 8, 10, 11, 20 + options + 6, 20 + options + 7, 28 + options + 4};
    EXPECT_EQ(icrc_ipv4(headers, ib), reference_icrc(headers + ib, masked)) << options;
  }
}

// The bytes of the tail are others meanwhile: only their CRC counts.
TEST(Icrc, GoesOnWithTheCrcOfATail) {
  for (const std::size_t size : {12u, 40u, 96u, 97u, 140u, 1036u, 4112u}) {
    const Bytes ib = ramp(size);
    for (std::size_t tail = 0; tail <= std::min<std::size_t>(size - 12, 4099); tail += tail < 200 ? 1 : 97) {
      Bytes changed = slice(ib, 0, size - tail) + Bytes(tail, std::byte{0xee});
      const TailCrc known(static_cast<std::uint32_t>(tail),
                          urnic::test::bitwise_crc32(slice(ib, size - tail, tail)));
      ASSERT_EQ(icrc_ipv4(kHeadersIpv4, changed, known), icrc_ipv4(kHeadersIpv4, ib)) << size << ", " << tail;
      ASSERT_EQ(icrc_ipv6(kHeadersIpv6, changed, known), icrc_ipv6(kHeadersIpv6, ib)) << size << ", " << tail;
      ASSERT_EQ(icrc_grh(kGrh, changed, known), icrc_grh(kGrh, ib)) << size << ", " << tail;
    }
  }
}

TEST(Icrc, IsStoredWithItsLowestByteFirst) {
  Bytes out(4);
  store_icrc(0x43689 << 8 | 0xba, out);
  EXPECT_EQ(out, hex("ba893604"));
  EXPECT_EQ(load_icrc(out), 0x043689bau);
}

}  // namespace
}  // namespace urnic::transport::wire
