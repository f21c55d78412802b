// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Habits: how known NICs fail a case, and peers live with it.
#pragma once

#include <span>
#include <string_view>

namespace urnic::conform {

struct Habit {
  std::string_view cases;    ///< a pattern of names
  std::string_view message;  ///< a part of what the failure says
  std::string_view maker;    ///< whose it is
  std::string_view source;   ///< from where that is known
  bool goes_on = false;      ///< what the script says afterwards can still be judged
};

std::span<const Habit> habits_of_rxe();
std::span<const Habit> habits_of_linux_cm();

/// Null if no known NIC does so.
const Habit* find_habit(std::string_view name, std::string_view message);

}  // namespace urnic::conform
