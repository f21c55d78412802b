// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/cases/habits.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

namespace urnic::conform {
namespace {

/// A READ that has been answered is not outstanding any more, so the next one is not one too many.
constexpr std::string_view kFastNics = "NICs that answer a READ before the next one is there";
constexpr std::string_view kByItself = "an answered READ takes none of a responder's resources";

/// One packet after an ACK timeout, and the others when it is answered, is urnic's way (fact 36, decisions).
constexpr std::string_view kWholeWindow = "NICs that send everything again at an ACK timeout";
constexpr std::string_view kOnePacketFirst = "transport/FACTS.md, decisions; urnic sends one packet first";

constexpr Habit kHabitsOfSeveral[] = {
    {"rc/read/resources_overflow_reads", "came: READ_RESPONSE", kFastNics, kByItself},
    {"rc/sqd/fewer_resources", "came: READ_RESPONSE", kFastNics, kByItself},
    {"rc/state/event_too_many_reads", "came: READ_RESPONSE", kFastNics, kByItself},

    {"rc/retry/count_*", "SEND_ONLY psn=201", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_refused", "came: SEND_ONLY psn=201", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_not_restarted_by_new_work", "> SEND_ONLY psn=201", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_implied_nak", "came: READ_REQUEST psn=201", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_implied_nak", "nothing expected it: > READ_REQUEST psn=201", kWholeWindow,
     kOnePacketFirst},
    {"rc/retry/timeout_read_first", "> READ_REQUEST psn=202", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_one_packet_first", "ackreq is 0, expected 1", kWholeWindow, kOnePacketFirst},
    {"rc/retry/timeout_resends", "ackreq is 0, expected 1", kWholeWindow, kOnePacketFirst},

    {"rc/read/2g", "dmalen is 0x80000000", "NICs that request a long READ at once",
     "urnic requests it in pieces of half a window"},
    {"rc/replay/atomic_msn_in_order", "came: ATOMIC_ACK psn=101", "NICs that answer each copy of an atomic",
     "urnic has one answer for copies that come together"},
    {"rc/replay/read_deregistered", "the state is ERR", "NICs for which each remote access error is the end",
     "transport/FACTS.md, decisions; urnic goes on after a repeated READ"},
    {"rc/nak/unknown", "the state is ERR", "NICs that end a connection at a NAK code that is none",
     "the rule of the case grants it"},
    {"cm/establishing/ack_delay", "ack-delay is", "NICs that take another time to acknowledge than urnic",
     "the script names urnic's local_ca_ack_delay"},
    {"*", "has-imm is 1, expected 0\n  came: cqe", "rdma_rxe and mlx5",
     "Linux before 6.2, rxe_comp.c, make_send_cqe(); rdma-core, providers/mlx5/cq.c", true},
};

}  // namespace

const Habit* find_habit(std::string_view name, std::string_view message) {
  const std::string text(name);
  const auto matches = [&](const Habit& habit) {
    return fnmatch(std::string(habit.cases).c_str(), text.c_str(), 0) == 0 &&
           message.find(habit.message) != message.npos;
  };
  for (const std::span<const Habit> habits :
       {std::span<const Habit>(kHabitsOfSeveral), habits_of_rxe(), habits_of_linux_cm()}) {
    const auto found = std::find_if(habits.begin(), habits.end(), matches);
    if (found != habits.end()) return &*found;
  }
  return nullptr;
}

}  // namespace urnic::conform
