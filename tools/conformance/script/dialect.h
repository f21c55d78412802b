// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Dialect: what scripts of one kind may say. The parser knows how a line is written, a dialect which lines
// there are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/conformance/script/script.h"
#include "tools/conformance/script/vocabulary.h"

namespace urnic::scripts {

class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual std::span<const VerbRule> verbs() const = 0;
  /// The rule of a field that is not listed with its verb, as a number of a packet is; nothing if there is no
  /// such field.
  virtual std::optional<ValueRule> find_field(const VerbRule& verb, std::string_view field) const = 0;
  /// What is wrong with a statement as a whole. Is asked about each statement, in their order.
  virtual std::optional<std::string> check(const VerbRule& verb, const Statement& statement) = 0;
};

}  // namespace urnic::scripts
