// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The words of the script language and what may follow each: the parser's tables.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "tools/conformance/script/script.h"

namespace urnic::scripts {

/// How a value is written, and the type of Value that it becomes.
enum class Form : std::uint8_t {
  kNothing,
  kFlag,      ///< bool: bare, or =yes or =no
  kNumber,    ///< std::uint64_t: 10, 0x1f, 64KiB
  kDrawn,     ///< std::uint64_t, or Word: the name of a number that the script does not know before it comes
  kChoice,    ///< Word, one of a list
  kOneOf,     ///< Word, one of a list or, with | between, any of several
  kName,      ///< Word that the script makes up
  kDuration,  ///< Duration: 1.28ms
  kRights,    ///< Access: write,read
  kPsns,      ///< PsnRange: 100 or 100..104
  kOctets,    ///< Octets: an even number of hexadecimal digits
  kPlaces,    ///< std::vector<Place>: shared+16:8,shared+100:8
};

struct ValueRule {
  std::string_view name;
  Form form = Form::kNothing;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< of a number
  std::span<const std::string_view> choices{};                     ///< of a choice
  bool is_required = false;
};

/// What a line that begins with `word` may be.
struct VerbRule {
  std::string_view word;
  Verb verb{};
  ValueRule subject{};
  std::span<const ValueRule> fields{};
};

/// The verbs of scripts about a queue pair.
std::span<const VerbRule> verbs();

/// The rule of a line's first word; null if there is none. Lines that begin with '+' are "+".
const VerbRule* find_verb(std::span<const VerbRule> verbs, std::string_view word);

/// Rights by name, in order of the bits of transport::Access.
std::span<const std::string_view> right_names();

/// Whether `name` is one of `alternatives`, a value of Form::kOneOf.
bool is_among(std::string_view name, std::string_view alternatives);

/// Where `name` stands in `names`; names.size() if it does not.
std::size_t index_of(std::span<const std::string_view> names, std::string_view name);

}  // namespace urnic::scripts
