// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/explain/advice.h"

#include <algorithm>

namespace urnic::explain {

const Advice* find_advice(std::span<const Advice> all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Advice::name);
  return found == all.end() ? nullptr : &*found;
}

verbs_api::Example code_of(const Advice& advice) {
  if (advice.wrong.empty() && advice.finding) return verbs_api::example_of(*advice.finding);
  return {.wrong = advice.wrong, .right = advice.right};
}

}  // namespace urnic::explain
