// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "tests/unit/check/congestion_frames.h"
#include "tests/unit/check/mutation.h"

namespace urnic::check::test {
namespace {

constexpr Mac kServer = {{0x52, 0x54, 0x01, 0xa6, 0x11, 0x75}};
constexpr std::int64_t kSpacingNs = 50'000;

CongestionPolicy apart(CnpScope scope) {
  return {.cnp_spacing_ns = kSpacingNs, .cnp_scope = scope};
}

/// Two CNPs of the server, 30 us apart; the second one for another queue pair of the client.
void cnps_for_two(Capture& capture) {
  mark(capture, 1);
  insert_cnp(capture, 2);
  capture.edit(insert_cnp(capture, 3, 30'000)).u24(5, 0x2e).seal();
}

/// After the first frame, the server asks for a pause of priority 0, which all frames of vs_sizes have, and
/// never ends it. A frame comes each half millisecond; at 1 Gb/s the pause lasts for 33 ms, longer than the
/// capture.
void pause_behind_the_first(Capture& capture, CapturedFrame pause) {
  pause.time_ns += capture[1].time_ns + 1000;
  capture.insert(std::move(pause), 1);
}

constexpr CongestionPolicy kGigabitLink = {.link_rate_bps = 1e9};

}  // namespace

std::vector<Mutation> congestion_mutations() {
  return {
      {"CnpsToAQueuePairTooNear", Rule::kCnpSpacing, "vs_sizes",
       [](Capture& c) {
         mark(c, 1);
         insert_cnp(c, 2);
         insert_cnp(c, 3, 30'000);
       },
       apart(CnpScope::kQueuePair)},
      {"CnpsToAnAddressTooNear", Rule::kCnpSpacing, "vs_sizes", cnps_for_two, apart(CnpScope::kAddress)},
      {"CnpsOfAPortTooNear", Rule::kCnpSpacing, "vs_sizes",
       [](Capture& c) {
         cnps_for_two(c);
         c.edit(4).ip_byte(19, 9).seal();
       },
       apart(CnpScope::kPort)},
      {"PriorityPauseIgnored", Rule::kPauseIgnored, "vs_sizes",
       [](Capture& c) {
         pause_behind_the_first(c, pause_frame(kServer, {{0, 0xffff}}, 0));
       },
       kGigabitLink},
      {"PauseOfAllIgnored", Rule::kPauseIgnored, "vs_sizes",
       [](Capture& c) { pause_behind_the_first(c, pause_of_all(kServer, 0xffff, 0)); }, kGigabitLink},
      {"PauseOfATagsPriorityIgnored", Rule::kPauseIgnored, "vs_sizes",
       [](Capture& c) {
         for (std::size_t number = 1; number <= c.size(); ++number) {
           auto& bytes = c[number].bytes;
           constexpr std::byte kTag[] = {std::byte{0x81}, std::byte{0}, std::byte{0xa0},
                                         std::byte{1}};  // priority 5
           bytes.insert(bytes.begin() + 12, std::begin(kTag), std::end(kTag));
           c[number].bytes_on_wire += 4;
         }
         pause_behind_the_first(c, pause_frame(kServer, {{5, 0xffff}}, 0));
       },
       kGigabitLink},
  };
}

}  // namespace urnic::check::test
