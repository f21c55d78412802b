// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/memory_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "nic/config.h"
#include "nic/memory/crc_copy.h"
#include "tests/support/bitwise_crc32.h"
#include "tests/support/value_of.h"

namespace urnic::nic {
namespace {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::PdId;
using transport::Rkey;

constexpr PdId kPd{7};
constexpr PdId kOtherPd{8};
constexpr transport::MemoryUser kUser{.pd = kPd, .qp = transport::QpNumber{0x11}};
constexpr transport::MemoryUser kStranger{.pd = kOtherPd, .qp = transport::QpNumber{0x11}};
constexpr Access kAll =
    Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
constexpr std::uint64_t kMax = ~std::uint64_t{0};

/// A table with one region of 64 bytes, of value 1, 2, 3, ..., known by the address `base`.
class MemoryTableTest : public testing::Test {
 protected:
  std::uint32_t add(Access access = kAll, std::uint64_t base = 0x10000) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i + 1);
    const auto key = table_.add(
        {.pd = kPd, .access = access, .address = base, .length = memory_.size(), .memory = memory_.data()});
    return urnic::test::value_of(key);
  }

  DmaStatus check(std::uint32_t key, std::uint64_t address, std::uint64_t length,
                  Access access = Access::kRemoteRead) {
    return table_.check_remote(kUser, Rkey(key), address, length, access);
  }

  std::array<std::byte, 64> memory_{};
  MemoryTable table_{1};
};

TEST_F(MemoryTableTest, ReadsAndWritesTheBytesAtTheAddress) {
  const std::uint32_t key = add();
  std::array<std::byte, 3> bytes{};
  EXPECT_EQ(table_.read_local(kPd, Lkey(key), 0x10000 + 61, bytes, nullptr), DmaStatus::kOk);
  EXPECT_EQ(bytes, (std::array{std::byte{62}, std::byte{63}, std::byte{64}}));
  EXPECT_EQ(table_.read_remote(kUser, Rkey(key), 0x10000, bytes, nullptr), DmaStatus::kOk);
  EXPECT_EQ(bytes, (std::array{std::byte{1}, std::byte{2}, std::byte{3}}));

  const std::array written{std::byte{0xa}, std::byte{0xb}, std::byte{0xc}};
  EXPECT_EQ(table_.write_local(kPd, Lkey(key), 0x10000 + 5, written), DmaStatus::kOk);
  EXPECT_EQ(table_.write_remote(kUser, Rkey(key), 0x10000 + 8, written), DmaStatus::kOk);
  EXPECT_EQ(memory_[4], std::byte{5});
  EXPECT_EQ(memory_[5], std::byte{0xa});
  EXPECT_EQ(memory_[10], std::byte{0xc});
  EXPECT_EQ(memory_[11], std::byte{12});
}

// Where the processor can: parts of 1024 bytes and more that follow each other. A shorter one ends what is
// known.
TEST_F(MemoryTableTest, GivesTheCrcOfLongPartsAsTheyAreRead) {
  if (best_crc_copy == nullptr)
    GTEST_SKIP() << "on this processor a copy and its CRC are one after the other";
  std::vector<std::byte> memory(8192);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 256);
  MemoryRegion region{
      .pd = kPd, .access = kAll, .address = 0, .length = memory.size(), .memory = memory.data()};
  const Lkey mapped{table_.add(region).value()};
  region.backing = Backing::kOnDemand;
  const Lkey on_demand{table_.add(region).value()};

  std::vector<std::byte> packet(4096);
  const std::span to(packet);
  transport::wire::TailCrc tail;
  const auto read = [&](Lkey key, std::size_t at, std::size_t size) {
    EXPECT_EQ(table_.read_local(kPd, key, 100, to.subspan(at, size), &tail), DmaStatus::kOk);
  };
  const auto expect_known = [&](std::size_t at, std::size_t size) {
    EXPECT_EQ(tail.bytes(), size);
    EXPECT_EQ(tail.crc(), size == 0 ? 0 : test::bitwise_crc32(to.subspan(at, size)));
  };
  read(mapped, 0, 1023);
  expect_known(1023, 0);
  read(mapped, 1023, 1024);
  expect_known(1023, 1024);
  read(mapped, 2047, 2049);
  expect_known(1023, 3073);
  read(mapped, 0, 0);
  expect_known(1023, 3073);
  read(mapped, 0, 8);
  expect_known(0, 0);
  EXPECT_EQ(table_.read_remote(kUser, Rkey(to_integer(mapped)), 3, to, &tail), DmaStatus::kOk);
  expect_known(0, 4096);
  read(on_demand, 0, 4096);
  expect_known(0, 0);
}

TEST_F(MemoryTableTest, WritesEveryLengthWhole) {
  const std::uint32_t key = add();
  for (std::size_t length = 0; length <= memory_.size(); ++length) {
    memory_.fill(std::byte{0});
    const std::vector<std::byte> bytes(length, std::byte{0xff});
    ASSERT_EQ(table_.write_remote(kUser, Rkey(key), 0x10000, bytes), DmaStatus::kOk);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      ASSERT_EQ(memory_[i], std::byte{i < length ? std::uint8_t{0xff} : std::uint8_t{0}})
          << length << " at " << i;
    }
  }
}

TEST_F(MemoryTableTest, EndsARegionBehindItsLastByte) {
  const std::uint32_t key = add();
  EXPECT_EQ(check(key, 0x10000, 64), DmaStatus::kOk);
  EXPECT_EQ(check(key, 0x10000, 65), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0x1003f, 1), DmaStatus::kOk);
  EXPECT_EQ(check(key, 0x1003f, 2), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0x10040, 1), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0xffff, 1), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0xffff, 65), DmaStatus::kOutOfBounds);
}

TEST_F(MemoryTableTest, IsNotFooledByLengthsAndAddressesThatWrapAround) {
  const std::uint32_t key = add();
  EXPECT_EQ(check(key, 0x10020, kMax), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0x10020, kMax - 0x1f), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, kMax, 2), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, kMax, kMax), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(key, 0, kMax), DmaStatus::kOutOfBounds);
}

TEST_F(MemoryTableTest, ServesRegionsAtBothEndsOfTheAddressSpace) {
  const std::uint32_t low = add(kAll, 0);
  EXPECT_EQ(check(low, 0, 64), DmaStatus::kOk);
  EXPECT_EQ(check(low, kMax, 1), DmaStatus::kOutOfBounds);
  const std::uint32_t high = add(kAll, kMax - 63);
  EXPECT_EQ(check(high, kMax - 63, 64), DmaStatus::kOk);
  EXPECT_EQ(check(high, kMax, 1), DmaStatus::kOk);
  EXPECT_EQ(check(high, kMax, 2), DmaStatus::kOutOfBounds);
  EXPECT_EQ(check(high, 0, 1), DmaStatus::kOutOfBounds);
}

TEST_F(MemoryTableTest, LetsAnEmptyRangeBeAnywhereInTheRegionAndRightBehindIt) {
  const std::uint32_t key = add();
  EXPECT_EQ(check(key, 0x10000, 0), DmaStatus::kOk);
  EXPECT_EQ(check(key, 0x10040, 0), DmaStatus::kOk);
  EXPECT_EQ(check(key, 0x10041, 0), DmaStatus::kOutOfBounds);
  EXPECT_EQ(table_.read_local(kPd, Lkey(key), 0x10000, {}, nullptr), DmaStatus::kOk);
  EXPECT_EQ(table_.write_local(kPd, Lkey(key), 0x10000, {}), DmaStatus::kOk);
}

TEST_F(MemoryTableTest, KeepsARegionWithoutBytesThatContainsNothing) {
  const auto key = table_.add({.pd = kPd, .access = kAll, .address = 0x500, .length = 0, .memory = nullptr});
  ASSERT_TRUE(key);
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(table_.read_remote(kUser, Rkey(key.value()), 0x500, {}, nullptr), DmaStatus::kOk);
  EXPECT_EQ(table_.read_remote(kUser, Rkey(key.value()), 0x500, byte, nullptr), DmaStatus::kOutOfBounds);
}

TEST_F(MemoryTableTest, RefusesAnotherProtectionDomain) {
  const std::uint32_t key = add();
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(table_.read_local(kOtherPd, Lkey(key), 0x10000, byte, nullptr), DmaStatus::kWrongPd);
  EXPECT_EQ(table_.write_local(kOtherPd, Lkey(key), 0x10000, byte), DmaStatus::kWrongPd);
  EXPECT_EQ(table_.read_remote(kStranger, Rkey(key), 0x10000, byte, nullptr), DmaStatus::kWrongPd);
  EXPECT_EQ(table_.write_remote(kStranger, Rkey(key), 0x10000, byte), DmaStatus::kWrongPd);
  EXPECT_EQ(table_.check_remote(kStranger, Rkey(key), 0x10000, 1, Access::kRemoteRead), DmaStatus::kWrongPd);
  EXPECT_EQ(memory_[0], std::byte{1});
}

TEST_F(MemoryTableTest, GrantsEachOperationByItsOwnRightOnly) {
  std::array<std::byte, 1> byte{std::byte{0xee}};
  struct Row {
    Access access;
    DmaStatus write_local, read_remote, write_remote, check_atomic;
  };
  constexpr auto kOk = DmaStatus::kOk;
  constexpr auto kNo = DmaStatus::kNoAccess;
  for (const Row& row :
       {Row{Access::kNone, kNo, kNo, kNo, kNo}, Row{Access::kLocalWrite, kOk, kNo, kNo, kNo},
        Row{Access::kRemoteRead, kNo, kOk, kNo, kNo}, Row{Access::kRemoteWrite, kNo, kNo, kOk, kNo},
        Row{Access::kRemoteAtomic, kNo, kNo, kNo, kOk}, Row{kAll, kOk, kOk, kOk, kOk}}) {
    const std::uint32_t key = add(row.access);
    SCOPED_TRACE(static_cast<int>(row.access));
    EXPECT_EQ(table_.read_local(kPd, Lkey(key), 0x10000, byte, nullptr), kOk);
    EXPECT_EQ(table_.write_local(kPd, Lkey(key), 0x10000, byte), row.write_local);
    EXPECT_EQ(table_.read_remote(kUser, Rkey(key), 0x10000, byte, nullptr), row.read_remote);
    EXPECT_EQ(table_.write_remote(kUser, Rkey(key), 0x10000, byte), row.write_remote);
    EXPECT_EQ(check(key, 0x10000, 1, Access::kRemoteAtomic), row.check_atomic);
  }
}

TEST_F(MemoryTableTest, WritesNothingWhereWritingIsNotAllowed) {
  const std::uint32_t key = add(Access::kRemoteRead);
  const std::array bytes{std::byte{0xee}};
  EXPECT_EQ(table_.write_remote(kUser, Rkey(key), 0x10000, bytes), DmaStatus::kNoAccess);
  EXPECT_EQ(table_.write_local(kPd, Lkey(key), 0x10000, bytes), DmaStatus::kNoAccess);
  EXPECT_EQ(memory_[0], std::byte{1});
}

TEST_F(MemoryTableTest, KnowsNoKeyButThoseItGave) {
  const std::uint32_t key = add();
  for (const std::uint32_t bit : {0, 1, 7, 8, 9, 20, 31}) {
    EXPECT_EQ(check(key ^ (1u << bit), 0x10000, 1), DmaStatus::kInvalidKey) << bit;
  }
  EXPECT_EQ(check(0, 0x10000, 1), DmaStatus::kInvalidKey);
  EXPECT_EQ(check(~0u, 0x10000, 1), DmaStatus::kInvalidKey);
  EXPECT_EQ(MemoryTable(2).check_remote(kUser, Rkey(0), 0, 0, Access::kNone), DmaStatus::kInvalidKey);
}

TEST_F(MemoryTableTest, ForgetsARemovedRegionAtOnceAndRemovesItOnce) {
  const std::uint32_t key = add();
  ASSERT_NE(table_.find(key), nullptr);
  EXPECT_TRUE(table_.remove(key));
  EXPECT_EQ(table_.find(key), nullptr);
  EXPECT_EQ(check(key, 0x10000, 1), DmaStatus::kInvalidKey);
  EXPECT_FALSE(table_.remove(key));
  EXPECT_FALSE(table_.remove(0));
}

TEST_F(MemoryTableTest, GivesNoKeyASecondTimeForThousandsOfRegistrations) {
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 60'000; ++i) {
    const std::uint32_t key = add();
    ASSERT_TRUE(keys.insert(key).second) << "after " << i;
    ASSERT_TRUE(table_.remove(key));
  }
}

TEST_F(MemoryTableTest, GivesOtherKeysForAnotherSeedAndTheSameForTheSame) {
  MemoryTable same(1);
  MemoryTable other(2);
  const MemoryRegion region{.pd = kPd, .length = 1, .memory = memory_.data()};
  const std::uint32_t key = table_.add(region).value();
  EXPECT_EQ(same.add(region).value(), key);
  EXPECT_NE(other.add(region).value(), key);
}

TEST_F(MemoryTableTest, HoldsTheMostRegionsADeviceMayHaveAndRefusesTheNext) {
  const MemoryRegion region{.pd = kPd, .length = 1, .memory = memory_.data()};
  std::set<std::uint32_t> keys;
  for (std::uint32_t i = 0; i < DeviceLimits::kMaxMemoryRegions; ++i) {
    const auto key = table_.add(region);
    ASSERT_TRUE(key);
    ASSERT_TRUE(keys.insert(key.value()).second);
  }
  EXPECT_FALSE(keys.contains(0));
  const auto refused = table_.add(region);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ENOMEM);

  const std::uint32_t freed = *keys.begin();
  ASSERT_TRUE(table_.remove(freed));
  const auto again = table_.add(region);
  ASSERT_TRUE(again);
  EXPECT_FALSE(keys.contains(again.value()));
  EXPECT_EQ(table_.find(freed), nullptr);
}

// Programs need not keep track of the key of a type 2 window to bind it.
TEST_F(MemoryTableTest, BindsAWindowByAnyKeyThatItHasHad) {
  const std::uint32_t region = add(kAll | Access::kWindowBind);
  const std::uint32_t first_key = table_.add_window(WindowType::kType2, kPd).value();
  const auto bind = [&](std::uint32_t new_key) {
    return table_.bind_window(kUser, {.window = Rkey{first_key},
                                      .new_rkey = Rkey{new_key},
                                      .region = Lkey{region},
                                      .address = 0x10000,
                                      .length = 64,
                                      .access = Access::kRemoteRead});
  };
  const std::uint32_t second_key = first_key ^ 1;
  const std::uint32_t third_key = first_key ^ 2;
  ASSERT_EQ(bind(second_key), DmaStatus::kOk);
  ASSERT_EQ(table_.invalidate(kUser, Rkey{second_key}), DmaStatus::kOk);
  EXPECT_EQ(bind(third_key), DmaStatus::kOk);
  EXPECT_EQ(check(third_key, 0x10000, 64), DmaStatus::kOk);
  EXPECT_EQ(check(second_key, 0x10000, 64), DmaStatus::kInvalidKey);
  EXPECT_EQ(bind(region), DmaStatus::kInvalidKey);
}

// A table whose windows of type 2 are of the other kind than the rest of this file has.
TEST_F(MemoryTableTest, AsksForTheProtectionDomainOfATypeTwoWindowOnlyWhereItIsOfType2B) {
  constexpr transport::MemoryUser kOtherQp{.pd = kPd, .qp = transport::QpNumber{0x12}};
  for (const Type2Windows type : {Type2Windows::k2A, Type2Windows::k2B}) {
    MemoryTable table(1, type);
    const auto region = table.add({.pd = kPd,
                                   .access = kAll | Access::kWindowBind,
                                   .address = 0x10000,
                                   .length = memory_.size(),
                                   .memory = memory_.data()});
    const Rkey window{table.add_window(WindowType::kType2, kPd).value()};
    const auto bind_as = [&](const transport::MemoryUser& user) {
      return table.bind_window(user, {.window = window,
                                      .new_rkey = window,
                                      .region = Lkey{region.value()},
                                      .address = 0x10000,
                                      .length = 64,
                                      .access = Access::kRemoteRead});
    };
    const auto read_as = [&](const transport::MemoryUser& user) {
      return table.check_remote(user, window, 0x10000, 8, Access::kRemoteRead);
    };
    const DmaStatus expected = type == Type2Windows::k2A ? DmaStatus::kOk : DmaStatus::kWrongPd;
    EXPECT_EQ(bind_as(kStranger), DmaStatus::kWrongPd) << "both are bound inside their protection domain";
    ASSERT_EQ(bind_as(kUser), DmaStatus::kOk);
    EXPECT_EQ(read_as(kUser), DmaStatus::kOk);
    EXPECT_EQ(read_as(kStranger), expected);
    EXPECT_EQ(read_as(kOtherQp), DmaStatus::kWrongPd);
    EXPECT_EQ(table.invalidate(kOtherQp, window), DmaStatus::kWrongPd);
    EXPECT_EQ(table.invalidate(kStranger, window), expected);
  }
}

}  // namespace
}  // namespace urnic::nic
