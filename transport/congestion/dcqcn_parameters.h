// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DcqcnParameters: under the names, and in the units, of OFED's files below roce_rp.
#pragma once

#include <array>
#include <cstdint>

#include "transport/congestion/parameter.h"

namespace urnic::transport::congestion {

/// The defaults of ConnectX cards (A1 of the congestion facts). The byte counter is off in them; its unit is
/// not known for certain.
struct DcqcnParameters {
  std::uint32_t clamp_tgt_rate = 0;                 ///< 0, 1: the target falls to the rate at each cut
  std::uint32_t clamp_tgt_rate_after_time_inc = 1;  ///< 0, 1: the same at a cut after an increase
  std::uint32_t rpg_time_reset = 300;               ///< us between increases
  std::uint32_t rpg_byte_reset = 0;                 ///< bytes between increases; 0: bytes are not counted
  std::uint32_t rpg_threshold = 1;                  ///< steps of fast recovery
  std::uint32_t rpg_ai_rate = 5;                    ///< Mb/s, additive step
  std::uint32_t rpg_hai_rate = 50;                  ///< Mb/s, hyper step
  std::uint32_t rpg_min_dec_fac = 50;               ///< percent of the rate that a cut leaves, at least
  std::uint32_t rpg_min_rate = 1;                   ///< Mb/s
  std::uint32_t rpg_max_rate = 0;                   ///< Mb/s; 0: line rate
  std::uint32_t rpg_gd = 11;                        ///< a cut is alpha / 2^(rpg_gd - 10) of the rate
  std::uint32_t rate_to_set_on_first_cnp = 0;       ///< Mb/s; 0: the rate stays
  std::uint32_t rate_reduce_monitor_period = 4;     ///< us between checks whether to cut
  std::uint32_t initial_alpha_value = 1023;         ///< of 1024
  std::uint32_t dce_tcp_g = 1019;                   ///< of 1024: what stays of alpha in each period
  std::uint32_t dce_tcp_rtt = 1;                    ///< us, period of alpha
};

/// Of a controller whose parameters are within these limits the arithmetic fits 64 bits.
inline constexpr std::uint32_t kMaxMegabits = 1'000'000;

inline constexpr auto kDcqcnParameters = std::to_array<Parameter<DcqcnParameters>>({
    {"clamp_tgt_rate", &DcqcnParameters::clamp_tgt_rate, 0, 1},
    {"clamp_tgt_rate_after_time_inc", &DcqcnParameters::clamp_tgt_rate_after_time_inc, 0, 1},
    {"rpg_time_reset", &DcqcnParameters::rpg_time_reset, 1, 131071},
    {"rpg_byte_reset", &DcqcnParameters::rpg_byte_reset, 0},
    {"rpg_threshold", &DcqcnParameters::rpg_threshold, 0, 31},
    {"rpg_ai_rate", &DcqcnParameters::rpg_ai_rate, 0, kMaxMegabits},
    {"rpg_hai_rate", &DcqcnParameters::rpg_hai_rate, 0, kMaxMegabits},
    {"rpg_min_dec_fac", &DcqcnParameters::rpg_min_dec_fac, 0, 100},
    {"rpg_min_rate", &DcqcnParameters::rpg_min_rate, 1, kMaxMegabits},
    {"rpg_max_rate", &DcqcnParameters::rpg_max_rate, 0, kMaxMegabits},
    {"rpg_gd", &DcqcnParameters::rpg_gd, 0, 15},
    {"rate_to_set_on_first_cnp", &DcqcnParameters::rate_to_set_on_first_cnp, 0, kMaxMegabits},
    {"rate_reduce_monitor_period", &DcqcnParameters::rate_reduce_monitor_period, 1, 131071},
    {"initial_alpha_value", &DcqcnParameters::initial_alpha_value, 0, 1023},
    {"dce_tcp_g", &DcqcnParameters::dce_tcp_g, 0, 1023},
    {"dce_tcp_rtt", &DcqcnParameters::dce_tcp_rtt, 1, 131071},
});

/// The parameters of the authors' simulation (A1), as far as this form of the algorithm has them: there each
/// CNP cuts, and CNPs are 50 us apart. Here 50 us is the period of checks.
inline constexpr DcqcnParameters kDcqcnOfPaper = {.clamp_tgt_rate = 1,
                                                  .clamp_tgt_rate_after_time_inc = 0,
                                                  .rpg_time_reset = 60,
                                                  .rpg_byte_reset = 300'000'000,
                                                  .rpg_threshold = 5,
                                                  .rpg_ai_rate = 40,
                                                  .rpg_hai_rate = 200,
                                                  .rpg_min_dec_fac = 0,
                                                  .rpg_min_rate = 100,
                                                  .rate_reduce_monitor_period = 50,
                                                  .initial_alpha_value = 512,
                                                  .dce_tcp_g = 1020,
                                                  .dce_tcp_rtt = 55};

/// The parameters of the example configuration of HPCC's simulation (A1).
inline constexpr DcqcnParameters kDcqcnOfHpcc = {.clamp_tgt_rate = 0,
                                                 .clamp_tgt_rate_after_time_inc = 1,
                                                 .rpg_time_reset = 900,
                                                 .rpg_threshold = 1,
                                                 .rpg_ai_rate = 50,
                                                 .rpg_hai_rate = 100,
                                                 .rpg_min_dec_fac = 0,
                                                 .rpg_min_rate = 100,
                                                 .rate_reduce_monitor_period = 4,
                                                 .initial_alpha_value = 1023,
                                                 .dce_tcp_g = 1020,
                                                 .dce_tcp_rtt = 1};

}  // namespace urnic::transport::congestion
