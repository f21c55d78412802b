// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Objects: everything that the threads share.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/stress/pool.h"

namespace urnic::stress {

struct Objects {
  /// Opens the device; throws when there is none.
  Objects();

  /// Takes apart what is left, in the order in which that must be possible. Says what could not be destroyed;
  /// empty when everything could.
  std::vector<const char*> take_apart();

  ibv_context* context = nullptr;
  Pool<ibv_pd> pds{6};
  Pool<ibv_comp_channel> channels{4};
  Pool<ibv_cq> cqs{10};
  Pool<ibv_srq> srqs{4};
  Pool<ibv_mr> mrs{24};
  Pool<ibv_mw> mws{6};
  Pool<ibv_ah> ahs{6};
  Pool<ibv_dm> dms{4};
  Pool<ibv_qp> qps{16};
  Pool<ibv_wq> wqs{8};
  Pool<ibv_rwq_ind_table> tables{4};
  Pool<ibv_qp> frame_qps{6};  ///< for raw packets and RSS
  Pool<ibv_flow> flows{8};
  Pool<ibv_xrcd> xrcds{3};
  Pool<ibv_qp> targets{6};  ///< of XRC; some are handles of the same

  /// Imported from the context above, and what was imported into it.
  ibv_context* imported = nullptr;
  Pool<ibv_pd> imported_pds{4};
  Pool<ibv_mr> imported_mrs{4};
  Pool<ibv_dm> imported_dms{4};

  int xrc_file = -1;  ///< names a domain

  /// Of completions that were polled.
  std::atomic<std::uint64_t> succeeded{0};
  std::atomic<std::uint64_t> failed{0};

  /// What regions are over. Only the NIC reads or writes it.
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(1 << 20);
  /// What inline data is taken from. No thread writes it.
  const std::vector<std::uint8_t> constants = std::vector<std::uint8_t>(4096, 0x5a);
};

/// Our own address in the GID table.
inline constexpr std::uint8_t kGidIndex = 1;
/// The group that queue pairs join.
inline constexpr std::array<std::uint8_t, 16> kGroup = {0, 0, 0,    0,    0,   0, 0, 0,
                                                        0, 0, 0xff, 0xff, 239, 1, 2, 3};

}  // namespace urnic::stress
