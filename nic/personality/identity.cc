// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/identity.h"

#include "nic/personality/cells.h"

namespace urnic::nic {
namespace {

/// Each is of one card and one firmware; there are others. The type is as mlx5's driver makes it of the part.
constexpr Identity kConnectX5{.vendor_id = 0x02c9,
                              .vendor_part_id = 4119,
                              .hw_ver = 0,
                              .fw_ver = "16.27.1016",
                              .board_id = "MT_0000000008",
                              .hca_type = "MT4119",
                              .source = table::kPrint5};
constexpr Identity kConnectX6{.vendor_id = 0x02c9,
                              .vendor_part_id = 4125,
                              .hw_ver = 0,
                              .fw_ver = "22.36.1010",
                              .board_id = "MT_0000000359",
                              .hca_type = "MT4125",
                              .source = table::kPrint6};
constexpr Identity kE810{.vendor_id = 0x8086,
                         .vendor_part_id = 5522,
                         .hw_ver = 2,
                         .fw_ver = "1.74",
                         .board_id = {},
                         .hca_type = {},
                         .source = table::kPrintE810};
constexpr Identity kRxe{.vendor_id = 0xffffff,
                        .vendor_part_id = 0,
                        .hw_ver = 0,
                        .fw_ver = "0.0.0",
                        .board_id = {},
                        .hca_type = {},
                        .source = table::kRxeDriver};

}  // namespace

const Identity* identity_of(Column column) {
  switch (column) {
    case Column::kConnectX5:
      return &kConnectX5;
    case Column::kConnectX6:
      return &kConnectX6;
    case Column::kE810:
      return &kE810;
    case Column::kRxe:
      return &kRxe;
    case Column::kDefault:
    case Column::kStrict:
      break;
  }
  return nullptr;
}

}  // namespace urnic::nic
