// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/script/parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tools/conformance/script/values.h"

namespace urnic::scripts {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

/// "# what is verified -- fact 20": the reader of a failure wants to know why it should be otherwise.
Result<std::string, Complaint> read_heading(std::string_view line) {
  const std::string_view heading = line.substr(0, 1) == "#" ? trimmed(line.substr(1)) : std::string_view{};
  const std::size_t reason = heading.rfind("--");
  if (reason == std::string_view::npos || trimmed(heading.substr(0, reason)).empty()) {
    return Complaint{"the first line must be '# what is verified -- fact NN' (or '-- rule: ...')"};
  }
  const std::string_view source = heading.substr(reason);
  if (source.find("fact") == std::string_view::npos && source.find("rule") == std::string_view::npos) {
    return Complaint{"the first line names neither a fact nor a rule after '--'"};
  }
  return std::string(heading);
}

class Parser {
 public:
  explicit Parser(Dialect& dialect) : dialect_(dialect) {}
  std::optional<std::string> read_line(unsigned line, std::string_view text);
  std::vector<Statement> take() { return std::move(statements_); }

 private:
  std::optional<std::string> read_subject(const VerbRule& rule, std::vector<std::string_view>& words);
  std::optional<std::string> read_field(const VerbRule& rule, std::string_view word);
  std::optional<ValueRule> rule_of(const VerbRule& rule, std::string_view field) const;
  std::optional<std::string> check_whole(const VerbRule& rule);

  Dialect& dialect_;
  Statement statement_;
  std::vector<Statement> statements_;
};

std::optional<std::string> Parser::read_line(unsigned line, std::string_view text) {
  text = trimmed(text.substr(0, text.find('#')));
  auto words = words_of(text);
  if (words.empty()) return std::nullopt;
  if (statements_.size() == kMostStatements) return fmt::format("more than {} statements", kMostStatements);

  // "+1ms" is a word of its own for the reader, "+" and a duration for us.
  if (words[0].size() > 1 && words[0][0] == '+') {
    words.insert(words.begin() + 1, words[0].substr(1));
    words[0] = words[0].substr(0, 1);
  }
  const VerbRule* rule = find_verb(dialect_.verbs(), words[0]);
  if (rule == nullptr) return fmt::format("no line begins with '{}'", words[0]);
  if (is_setting(rule->verb) && !statements_.empty() && !is_setting(statements_.back().verb)) {
    return fmt::format("'{}' is a setting: settings come before everything else", words[0]);
  }
  statement_ = {.line = line, .verb = rule->verb, .text = std::string(text), .name = std::string(words[0])};
  words.erase(words.begin());
  if (auto wrong = read_subject(*rule, words)) return wrong;
  for (const std::string_view word : words) {
    if (auto wrong = read_field(*rule, word)) return wrong;
  }
  if (auto wrong = check_whole(*rule)) return wrong;
  statements_.push_back(std::move(statement_));
  return std::nullopt;
}

std::optional<std::string> Parser::read_subject(const VerbRule& rule, std::vector<std::string_view>& words) {
  if (rule.subject.form == Form::kNothing) return std::nullopt;
  if (words.empty()) return fmt::format("'{}' needs a {} after it", rule.word, rule.subject.name);
  // A timer that must not run is written "timer none".
  if (rule.verb == Verb::kTimeout && words[0] == "none") {
    statement_.subject = Value(false);
  } else {
    auto value = read_value(rule.subject, words[0]);
    if (!value) return fmt::format("{}: {}", rule.word, value.error().text);
    statement_.subject = std::move(value.value());
  }
  words.erase(words.begin());
  return std::nullopt;
}

std::optional<ValueRule> Parser::rule_of(const VerbRule& rule, std::string_view field) const {
  for (const ValueRule& candidate : rule.fields) {
    if (candidate.name == field) return candidate;
  }
  return dialect_.find_field(rule, field);
}

std::optional<std::string> Parser::read_field(const VerbRule& rule, std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const auto field = rule_of(rule, name);
  if (!field) return fmt::format("'{}' knows no '{}'", rule.word, name);
  if (statement_.has(name)) return fmt::format("'{}' occurs twice", name);

  const bool is_bit = field->form == Form::kNumber && field->most == 1;
  if (equals == std::string_view::npos) {
    if (field->form != Form::kFlag && !is_bit) return fmt::format("'{}' needs a value: {}=...", name, name);
    statement_.fields.push_back({std::string(name), is_bit ? Value(std::uint64_t{1}) : Value(true)});
    return std::nullopt;
  }
  const std::string_view text = word.substr(equals + 1);
  if (is_bit && text == "no") {
    statement_.fields.push_back({std::string(name), Value(std::uint64_t{0})});
    return std::nullopt;
  }
  auto value = read_value(*field, text);
  if (!value) return fmt::format("{}: {}", name, value.error().text);
  statement_.fields.push_back({std::string(name), std::move(value.value())});
  return std::nullopt;
}

std::optional<std::string> Parser::check_whole(const VerbRule& rule) {
  for (const ValueRule& field : rule.fields) {
    if (field.is_required && !statement_.has(field.name)) {
      return fmt::format("'{}' needs {}=...", rule.word, field.name);
    }
  }
  return dialect_.check(rule, statement_);
}

}  // namespace

Result<Script, ScriptError> parse_script(std::string_view text, Dialect& dialect) {
  if (text.size() > kMostScriptBytes) return ScriptError{0, "the script is too long"};
  Script script;
  Parser parser(dialect);
  for (unsigned line = 1; line == 1 || !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == 1) {
      auto heading = read_heading(trimmed(content));
      if (!heading) return ScriptError{line, heading.error().text};
      script.verifies = std::move(heading.value());
    } else if (auto wrong = parser.read_line(line, content)) {
      return ScriptError{line, *std::move(wrong)};
    }
  }
  script.statements = parser.take();
  if (script.statements.empty()) return ScriptError{1, "a script without statements"};
  return script;
}

}  // namespace urnic::scripts
