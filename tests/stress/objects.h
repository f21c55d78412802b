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

  /// Takes apart what is left, in the order in which that must be possible. Says what could not be destroyed; empty when
  /// everything could.
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

  /// Of completions that were polled.
  std::atomic<std::uint64_t> succeeded{0};
  std::atomic<std::uint64_t> failed{0};

  /// What regions are over. Nobody but the NIC reads or writes it.
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(1 << 20);
  /// What inline data is taken from. Nobody writes it.
  const std::vector<std::uint8_t> constants = std::vector<std::uint8_t>(4096, 0x5a);
};

/// Our own address in the GID table.
inline constexpr std::uint8_t kGidIndex = 1;
/// The group that queue pairs join.
inline constexpr std::array<std::uint8_t, 16> kGroup = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};

}  // namespace urnic::stress
