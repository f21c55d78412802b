// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Each vector is cut out of a frame in pcap_fixtures/; the numbers are those the two programs printed, or
// what tshark makes of the frame.
#include "transport/wire/headers.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/transport/wire/captured.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::hex;

template <typename Header>
Bytes emitted(const Header& header) {
  Bytes bytes(Header::kBytes, std::byte{0xcc});
  EXPECT_EQ(emit(header, bytes), Header::kBytes);
  return bytes;
}

template <typename Header>
void expect_both_ways(const Header& header, const Bytes& bytes) {
  EXPECT_TRUE(Header::parse(bytes) == header);
  EXPECT_EQ(emitted(header), bytes);
}

TEST(Bth, IsThatOfVsSizesFrame9) {
  expect_both_ways(Bth{.opcode = Opcode::kRcSendOnly,
                       .migrated = false,
                       .pad_count = 3,
                       .pkey = 0xffff,
                       .destination_qp = QpNumber{0x2c},
                       .ack_request = true,
                       .psn = Psn(0x476ed9)},
                   hex("0430ffff0000002c80476ed9"));
}

TEST(Bth, IsThatOfVsImmInvFrame5) {
  expect_both_ways(Bth{.opcode = Opcode::kRcSendLastWithImmediate,
                       .solicited = true,
                       .migrated = false,
                       .destination_qp = QpNumber{0x2d},
                       .ack_request = true,
                       .psn = Psn(0x7b52d8)},
                   hex("0380ffff0000002d807b52d8"));
}

// Each field alone, all its bits set: what stands where, as the BTH's layout is drawn (MSB first).
TEST(Bth, KeepsEveryBitInItsPlace) {
  const Bth zero{.opcode = Opcode::kRcSendFirst, .migrated = false, .pkey = 0};
  const auto with = [&](auto change) {
    Bth bth = zero;
    change(bth);
    return bth;
  };
  expect_both_ways(zero, hex("00 00 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.opcode = Opcode{0xff}; }), hex("ff 00 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.solicited = true; }), hex("00 80 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.migrated = true; }), hex("00 40 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.pad_count = 3; }), hex("00 30 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.version = 15; }), hex("00 0f 0000 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.pkey = 0x8001; }), hex("00 00 8001 00 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.fecn = true; }), hex("00 00 0000 80 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.becn = true; }), hex("00 00 0000 40 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.reserved6 = 0x3f; }), hex("00 00 0000 3f 000000 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.destination_qp = QpNumber{0x123456}; }),
                   hex("00 00 0000 00 123456 00 000000"));
  expect_both_ways(with([](Bth& bth) { bth.ack_request = true; }), hex("00 00 0000 00 000000 80 000000"));
  expect_both_ways(with([](Bth& bth) { bth.reserved7 = 0x7f; }), hex("00 00 0000 00 000000 7f 000000"));
  expect_both_ways(with([](Bth& bth) { bth.psn = Psn(0xfedcba); }), hex("00 00 0000 00 000000 00 fedcba"));
}

TEST(Bth, DoesNotLetAFieldSpillIntoItsNeighbor) {
  EXPECT_EQ(emitted(Bth{.opcode = Opcode::kRcSendFirst,
                        .migrated = false,
                        .pad_count = 0xfc,
                        .version = 0xf0,
                        .pkey = 0,
                        .reserved6 = 0xc0,
                        .destination_qp = QpNumber{0xff000000},
                        .reserved7 = 0x80}),
            Bytes(Bth::kBytes));
}

TEST(Reth, IsThatOfVsImmInvFrame19) {
  expect_both_ways(Reth{.address = 0x7f2722114000, .rkey = Rkey{0x080001d3}, .length = 2000},
                   hex("00007f2722114000080001d3000007d0"));
}

TEST(Aeth, IsThatOfVsImmInvFrame25) {
  expect_both_ways(Aeth{.syndrome = 0x62, .msn = 8}, hex("62000008"));
  EXPECT_EQ(emitted(Aeth{.syndrome = 0x1f, .msn = 0x1fedcba}), hex("1ffedcba"));
}

TEST(Deth, IsThatOfVsUdFrame2) {
  expect_both_ways(Deth{.qkey = 0x11111111, .source_qp = QpNumber{0x44}}, hex("1111111100000044"));
  expect_both_ways(Deth{.qkey = 0x80010000, .reserved = 0xa5, .source_qp = QpNumber{1}},
                   hex("80010000a5000001"));
}

TEST(AtomicEth, IsThatOfVsAtomicsFrame1) {
  expect_both_ways(
      AtomicEth{
          .address = 0x7ff404473000, .rkey = Rkey{0x2658}, .swap_or_add = 0x1122334455667788, .compare = 0},
      hex("00007ff404473000000026581122334455667788 0000000000000000"));
  expect_both_ways(AtomicEth{.compare = 0x0102030405060708}, hex("0000000000000000 00000000 0000000000000000"
                                                                 "0102030405060708"));
}

TEST(AtomicAckEth, IsThatOfVsAtomicsFrame2) {
  expect_both_ways(AtomicAckEth{.original = 0x322b241d160f0801}, hex("322b241d160f0801"));
}

// The client's sixth work request was "sendinv" with the rkey of the window it had been given.
TEST(Ieth, IsThatOfVsImmInvFrame22) {
  expect_both_ways(Ieth{.rkey = Rkey{0x080001d3}}, hex("080001d3"));
}

TEST(Immediate, KeepsTheOrderOfTheWireInMemory) {
  const Bytes bytes = hex("00001003");  // vs_imm_inv.pcap, frame 9
  const Immediate immediate = Immediate::parse(bytes);
  EXPECT_EQ(std::memcmp(&immediate.value, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(emitted(immediate), bytes);
}

// No capture of these two is known; the layouts are from facts 32 and "XRCETH".
TEST(Xrceth, HasTheSrqInItsLow24Bits) {
  expect_both_ways(Xrceth{.srq = 0xabcdef}, hex("00abcdef"));
  EXPECT_TRUE(Xrceth::parse(hex("ffabcdef")) == Xrceth{.srq = 0xabcdef});
}

TEST(Feth, HasTheTypeInBits3To0AndTheSelectivityInBits5To4) {
  expect_both_ways(Feth{.placement_type = 2, .selectivity = 0}, hex("00000002"));
  expect_both_ways(Feth{.placement_type = 0xf, .selectivity = 3}, hex("0000003f"));
  EXPECT_TRUE(Feth::parse(hex("ffffffd1")) == (Feth{.placement_type = 1, .selectivity = 1}));
  EXPECT_EQ(emitted(Feth{.placement_type = 0xf0, .selectivity = 0xfc}), Bytes(Feth::kBytes));
}

}  // namespace
}  // namespace urnic::transport::wire
