// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The variables of the environment that a program with a NIC reads, as the manual page describes them.
#pragma once

#include <span>

namespace urnic::verbs_api {

struct VariableEntry {
  const char* name;        ///< of device N it is NAME_N, or NAME where that is not set
  const char* value;       ///< what its value is called
  const char* meaning;     ///< a sentence
  const char* by_default;  ///< what holds without it; null where only urnic itself sets the variable
};

/// All of them, in the order in which a user meets them.
std::span<const VariableEntry> variable_table();

}  // namespace urnic::verbs_api
