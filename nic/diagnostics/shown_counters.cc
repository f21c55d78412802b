// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/shown_counters.h"

#include <fstream>

#include "nic/diagnostics/kernel_counters.h"

namespace urnic::nic {

std::string counter_names_file(const std::string& tree, const std::string& device) {
  return tree + "/counter_names/" + device;
}

CounterNames shown_counter_names(const std::string& tree, const std::string& device) {
  std::ifstream file(counter_names_file(tree, device));
  std::string name;
  file >> name;
  return counter_names_named(name).value_or(CounterNames::kOwn);
}

}  // namespace urnic::nic
