// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Advice: what a program does about something that has a name, with wrong and right code.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "verbs_api/sanitizer/example.h"
#include "verbs_api/sanitizer/finding.h"

namespace urnic::explain {

struct Advice {
  std::string_view name;  ///< of what it is about
  std::string_view text;  ///< what to do: a sentence without a full stop
  /// Of the sanitizer, about the same mistake. Where the advice has no code of its own, it has the finding's.
  std::optional<verbs_api::Finding> finding{};
  std::string_view wrong{};  ///< some lines of C; empty where no code is wrong
  std::string_view right{};
};

/// On the rows of nic/personality.
std::span<const Advice> advice_on_personalities();
/// On what --like does not imitate.
std::span<const Advice> advice_on_what_is_not_imitated();
/// On what a legal adversary does.
std::span<const Advice> advice_on_behaviors();
/// On statuses of completions, by their names without IBV_WC_.
std::span<const Advice> advice_on_statuses();

/// Null where there is none of that name.
const Advice* find_advice(std::span<const Advice> all, std::string_view name);

/// The code that belongs to it: empty where no code is wrong.
verbs_api::Example code_of(const Advice& advice);

}  // namespace urnic::explain
