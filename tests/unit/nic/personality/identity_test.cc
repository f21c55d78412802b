// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/identity.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace urnic::nic {
namespace {

TEST(Identity, IsOfEachColumnThatIsAnotherNic) {
  for (std::size_t i = 0; i < kColumnCount; ++i) {
    const auto column = static_cast<Column>(i);
    const bool is_a_nic = column != Column::kDefault && column != Column::kStrict;
    EXPECT_EQ(identity_of(column) != nullptr, is_a_nic) << name_of(column);
  }
}

TEST(Identity, FitsWhereProgramsReadIt) {
  constexpr std::size_t kFirmwareBytes = 64;  // of ibv_device_attr, with the 0 at the end
  for (const Column column : {Column::kConnectX5, Column::kConnectX6, Column::kE810, Column::kRxe}) {
    const Identity& identity = *identity_of(column);
    EXPECT_LT(identity.fw_ver.size(), kFirmwareBytes) << name_of(column);
    EXPECT_LE(identity.vendor_id, 0xffffffu) << name_of(column);
    EXPECT_FALSE(identity.source.empty()) << name_of(column);
  }
}

}  // namespace
}  // namespace urnic::nic
