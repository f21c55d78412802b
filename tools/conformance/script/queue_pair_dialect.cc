// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What scripts of a queue pair may say beyond their vocabulary: the fields of packets, and which of them each
// packet has.
#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/script/packet_text.h"
#include "tools/conformance/script/parser.h"
#include "transport/counters.h"

namespace urnic::scripts {
namespace {

bool is_about_packet(const VerbRule& rule) {
  return rule.verb == Verb::kArrives || rule.verb == Verb::kLeaves;
}

WireService wires_service(const Word& name) {
  if (name == "uc") return WireService::kUc;
  if (name == "ud") return WireService::kUd;
  return name == "xrc" ? WireService::kXrc : WireService::kRc;
}

class QueuePairDialect final : public Dialect {
 public:
  std::span<const VerbRule> verbs() const override { return scripts::verbs(); }
  std::optional<ValueRule> find_field(const VerbRule& rule, std::string_view field) const override;
  std::optional<std::string> check(const VerbRule& rule, const Statement& statement) override;

 private:
  std::optional<std::string> check_packet(const VerbRule& rule, const Statement& statement) const;

  WireService service_ = WireService::kRc;
};

/// A number of the packet, or a counter.
std::optional<ValueRule> QueuePairDialect::find_field(const VerbRule& rule, std::string_view field) const {
  if (is_about_packet(rule) && is_packet_number(field)) {
    return ValueRule{field, Form::kNumber, most_of_packet_number(field)};
  }
  if (rule.verb == Verb::kCounter && transport::find_named<transport::Counter>(field)) {
    return ValueRule{field, Form::kNumber};
  }
  return std::nullopt;
}

std::optional<std::string> QueuePairDialect::check(const VerbRule& rule, const Statement& statement) {
  if (rule.verb == Verb::kService) service_ = wires_service(statement.subject_as<Word>());
  if (rule.subject.form == Form::kPlaces && statement.subject_as<std::vector<Place>>().size() != 1) {
    return fmt::format("'{}' is about one place", rule.word);
  }
  if (is_about_packet(rule)) return check_packet(rule, statement);
  return std::nullopt;
}

/// That there is such a packet, and that it has what the line says of it.
std::optional<std::string> QueuePairDialect::check_packet(const VerbRule& rule,
                                                          const Statement& statement) const {
  const Word& name = statement.subject_as<Word>();
  if (!is_packet_name(name)) return fmt::format("there is no packet '{}'", name);
  const auto packet = named_packet(name, service_);
  if (!packet) return fmt::format("this service has no {}", name);
  for (const Field& field : statement.fields) {
    const bool is_own = std::any_of(rule.fields.begin(), rule.fields.end(),
                                    [&](const ValueRule& own) { return own.name == field.name; });
    if (!is_own && !packet_number(*packet, field.name)) {
      return fmt::format("{} carries no '{}'", name, field.name);
    }
  }
  const bool has_contents = statement.has("data") || statement.has("fill") || statement.has("bytes") ||
                            statement.has("like-psn") || statement.number("len") > 0;
  if (has_contents && !carries_payload(*packet)) return fmt::format("{} carries no payload", name);
  if (statement.has("to") && !packet_number(*packet, "va")) {
    return fmt::format("{} carries no address", name);
  }
  return std::nullopt;
}

}  // namespace

Result<Script, ScriptError> parse_script(std::string_view text) {
  QueuePairDialect dialect;
  return parse_script(text, dialect);
}

}  // namespace urnic::scripts
