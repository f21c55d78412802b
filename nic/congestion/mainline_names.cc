// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/congestion/mainline_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace urnic::nic {
namespace {

using OfedAndMainline = std::pair<std::string_view, std::string_view>;

constexpr auto kMainlineNames = std::to_array<OfedAndMainline>({
    {"ecn/roce_rp/clamp_tgt_rate", "rp_clamp_tgt_rate"},
    {"ecn/roce_rp/clamp_tgt_rate_after_time_inc", "rp_clamp_tgt_rate_ati"},
    {"ecn/roce_rp/dce_tcp_g", "rp_dce_tcp_g"},
    {"ecn/roce_rp/dce_tcp_rtt", "rp_dce_tcp_rtt"},
    {"ecn/roce_rp/initial_alpha_value", "rp_initial_alpha_value"},
    {"ecn/roce_rp/rate_reduce_monitor_period", "rp_rate_reduce_monitor_period"},
    {"ecn/roce_rp/rate_to_set_on_first_cnp", "rp_rate_to_set_on_first_cnp"},
    {"ecn/roce_rp/rpg_ai_rate", "rp_ai_rate"},
    {"ecn/roce_rp/rpg_byte_reset", "rp_byte_reset"},
    {"ecn/roce_rp/rpg_gd", "rp_gd"},
    {"ecn/roce_rp/rpg_hai_rate", "rp_hai_rate"},
    {"ecn/roce_rp/rpg_max_rate", "rp_max_rate"},
    {"ecn/roce_rp/rpg_min_dec_fac", "rp_min_dec_fac"},
    {"ecn/roce_rp/rpg_min_rate", "rp_min_rate"},
    {"ecn/roce_rp/rpg_threshold", "rp_threshold"},
    {"ecn/roce_rp/rpg_time_reset", "rp_time_reset"},
    {"ecn/roce_np/cnp_802p_prio", "np_cnp_prio"},
    {"ecn/roce_np/cnp_dscp", "np_cnp_dscp"},
    {"ecn/roce_np/min_time_between_cnps", "np_min_time_between_cnps"},
});

}  // namespace

std::string_view mainline_name(std::string_view ofed_name) {
  const auto* const found = std::ranges::find(kMainlineNames, ofed_name, &OfedAndMainline::first);
  return found == kMainlineNames.end() ? std::string_view() : found->second;
}

}  // namespace urnic::nic
