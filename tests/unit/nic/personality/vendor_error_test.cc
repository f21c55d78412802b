// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/vendor_error.h"

#include <gtest/gtest.h>

#include <set>

namespace urnic::nic {
namespace {

using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;
using transport::FailureDetail;

TEST(VendorError, HasADifferentNumberInEachRow) {
  std::set<std::uint32_t> numbers;
  for (const VendorErrorRow& row : vendor_error_rows()) {
    EXPECT_TRUE(numbers.insert(row.number).second) << std::hex << row.number;
    EXPECT_FALSE(row.cause.empty() || row.source.empty()) << std::hex << row.number;
  }
}

// A row that another one before it covers would never be given.
TEST(VendorError, GivesTheNumberOfEachRowForWhatTheRowSays) {
  for (const VendorErrorRow& row : vendor_error_rows()) {
    const Completion send{.status = row.status, .detail = row.detail.value_or(FailureDetail::kNone)};
    EXPECT_EQ(vendor_error(row.kind, send), row.number);
    Completion receive = send;
    receive.opcode = CompletionOpcode::kReceive;
    EXPECT_EQ(vendor_error(row.kind, receive), row.is_of_receives ? row.number : 0);
  }
}

// Typed from the sources, apart from the table.
TEST(VendorError, TellsFlushesOfAConnectXApart) {
  const Completion oldest{.status = CompletionStatus::kWorkRequestFlushed,
                          .detail = FailureDetail::kFirstFlushed};
  const Completion later{.status = CompletionStatus::kWorkRequestFlushed};
  EXPECT_EQ(vendor_error(VendorErrors::kMlx5, oldest), 0xf5u);
  EXPECT_EQ(vendor_error(VendorErrors::kMlx5, later), 0xf9u);
  EXPECT_EQ(vendor_error(VendorErrors::kIrdma, oldest), 0x10001u);
}

TEST(VendorError, IsZeroWhereNoSourceTellsAndForANicThatGivesNone) {
  const Completion failed{.status = CompletionStatus::kLocalLengthError};
  EXPECT_EQ(vendor_error(VendorErrors::kMlx5, failed), 0u);
  EXPECT_EQ(vendor_error(VendorErrors::kZero, failed), 0u);
  EXPECT_EQ(vendor_error(VendorErrors::kIrdma, Completion{}), 0u);
}

}  // namespace
}  // namespace urnic::nic
