// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Topic: something that has a name, and all that there is to say about it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/teaching/explain/advice.h"

namespace urnic::explain {

struct Topic {
  std::string name;                        ///< as people write it
  std::vector<std::string> other_names{};  ///< that people write as well
  std::string kind;                        ///< a word or a number for the list
  std::string summary;                     ///< a line for the list
  std::string text;                        ///< all of it, with a newline at the end
};

struct Chapter {
  std::string_view title;
  std::vector<Topic> topics;
};

/// One line "  LABEL     TEXT"; nothing for an empty text.
std::string labelled(std::string_view label, std::string_view text);

/// What to do, the finding about the same mistake, and the code; nothing for null.
std::string advice_text(const Advice* advice);
/// Wrong and right code; nothing where there is none.
std::string code_text(const verbs_api::Example& example);

// The chapters, each in the order of its tables.
Chapter findings_of_the_sanitizer();
Chapter what_differs_between_nics();
Chapter what_is_not_imitated();
Chapter behaviors_of_the_adversary();
Chapter rules_of_captures();
Chapter statuses_of_completions();
Chapter vendor_errors();

std::vector<Chapter> all_chapters();

}  // namespace urnic::explain
