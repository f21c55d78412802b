// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/connections/dialect.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "tools/conformance/script/connections/mad.h"
#include "tools/conformance/script/connections/vocabulary.h"

namespace urnic::scripts::connections {
namespace {

/// Numbers that each connection draws: a script may give them names.
constexpr auto kDrawnNumbers =
    std::to_array<std::string_view>({"tid", "local-id", "remote-id", "request-id", "psn"});

class ConnectionDialect final : public Dialect {
 public:
  std::span<const VerbRule> verbs() const override { return connections::verbs(); }

  std::optional<ValueRule> find_field(const VerbRule& rule, std::string_view field) const override {
    const bool is_message = rule.verb == Verb::kArrives || rule.verb == Verb::kLeaves;
    if (!is_message || !is_mad_number(field)) return std::nullopt;
    const bool is_drawn = std::count(kDrawnNumbers.begin(), kDrawnNumbers.end(), field) > 0;
    return ValueRule{field, is_drawn ? Form::kDrawn : Form::kNumber, most_of_mad_number(field)};
  }

  /// That there is such a message, and that it has what the line says of it.
  std::optional<std::string> check(const VerbRule& rule, const Statement& statement) override {
    if (rule.verb != Verb::kArrives && rule.verb != Verb::kLeaves) return std::nullopt;
    const Word& name = statement.subject_as<Word>();
    const auto mad = Mad::named(name);
    if (!mad) return fmt::format("there is no message '{}'", name);
    for (const Field& field : statement.fields) {
      const bool is_carried = is_own(rule, field.name)
                                  ? !mad->address(field.name).empty() || !is_address(field.name)
                                  : mad->has(field.name);
      if (!is_carried) return fmt::format("{} carries no '{}'", name, field.name);
    }
    if (statement.has("port") && !mad->has("service-id")) return fmt::format("{} carries no 'port'", name);
    return std::nullopt;
  }

 private:
  static bool is_own(const VerbRule& rule, std::string_view field) {
    return std::any_of(rule.fields.begin(), rule.fields.end(),
                       [field](const ValueRule& own) { return own.name == field; });
  }
  static bool is_address(std::string_view field) { return !Mad::named("REQ")->address(field).empty(); }
};

}  // namespace

Result<Script, ScriptError> parse_connection_script(std::string_view text) {
  ConnectionDialect dialect;
  return scripts::parse_script(text, dialect);
}

}  // namespace urnic::scripts::connections
