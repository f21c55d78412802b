// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Link rates: InfiniBand's codes, multiples of the oldest rate, and Mb/s.
#include <algorithm>
#include <array>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/untrusted_enum.h"

using urnic::verbs_api::number_in;

namespace {

struct Rate {
  ibv_rate code;
  int mbps;
  int multiple;  ///< of 2.5 Gb/s; -1 for the rates to which libibverbs gives none
};

constexpr std::array kRates = std::to_array<Rate>({
    {IBV_RATE_2_5_GBPS, 2500, 1},     {IBV_RATE_5_GBPS, 5000, 2},         {IBV_RATE_10_GBPS, 10000, 4},
    {IBV_RATE_14_GBPS, 14062, -1},    {IBV_RATE_20_GBPS, 20000, 8},       {IBV_RATE_25_GBPS, 25781, -1},
    {IBV_RATE_28_GBPS, 28125, 11},    {IBV_RATE_30_GBPS, 30000, 12},      {IBV_RATE_40_GBPS, 40000, 16},
    {IBV_RATE_50_GBPS, 53125, 20},    {IBV_RATE_56_GBPS, 56250, -1},      {IBV_RATE_60_GBPS, 60000, 24},
    {IBV_RATE_80_GBPS, 80000, 32},    {IBV_RATE_100_GBPS, 103125, -1},    {IBV_RATE_112_GBPS, 112500, -1},
    {IBV_RATE_120_GBPS, 120000, 48},  {IBV_RATE_168_GBPS, 168750, -1},    {IBV_RATE_200_GBPS, 206250, -1},
    {IBV_RATE_300_GBPS, 309375, -1},  {IBV_RATE_400_GBPS, 425000, 160},   {IBV_RATE_600_GBPS, 637500, 240},
    {IBV_RATE_800_GBPS, 850000, 320}, {IBV_RATE_1200_GBPS, 1275000, 480},
});

template <typename Predicate>
const Rate* find_rate(Predicate is_it) {
  const auto found = std::find_if(kRates.begin(), kRates.end(), is_it);
  return found != kRates.end() ? &*found : nullptr;
}

}  // namespace

extern "C" {

int ibv_rate_to_mult(ibv_rate rate) {
  const Rate* const found = find_rate([code = number_in(rate)](const Rate& row) { return row.code == code; });
  return found != nullptr ? found->multiple : -1;
}

ibv_rate mult_to_ibv_rate(int mult) {
  const Rate* const found = find_rate([mult](const Rate& row) { return mult > 0 && row.multiple == mult; });
  return found != nullptr ? found->code : IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  const Rate* const found = find_rate([code = number_in(rate)](const Rate& row) { return row.code == code; });
  return found != nullptr ? found->mbps : -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  const Rate* const found = find_rate([mbps](const Rate& row) { return row.mbps == mbps; });
  return found != nullptr ? found->code : IBV_RATE_MAX;
}

}  // extern "C"
