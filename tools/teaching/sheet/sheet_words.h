// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What states, statuses and syndromes mean, in sentences: what the product's tables do not say.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/completion.h"
#include "transport/qp_state.h"

namespace urnic::sheet {

std::string_view meaning_of(transport::QpState state);

struct StatusWords {
  std::string_view meaning;
  std::string_view look_at;  ///< where a program's author begins to look
};
StatusWords words_of(transport::CompletionStatus status);

/// What a syndrome says, and what the requester does then. Both are the same for all codes of a kind, except
/// for NAKs.
struct SyndromeWords {
  std::string_view meaning;
  std::string_view requester;
};
SyndromeWords words_of_syndrome(std::uint8_t syndrome);

}  // namespace urnic::sheet
