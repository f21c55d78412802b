// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/help_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace urnic::tools {
namespace {

constexpr std::string_view kExitCode = "Exit code: ";
constexpr std::size_t kItemIndent = 2;
constexpr std::size_t kNestedIndent = 4;  // of an item within an item

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

void append(std::string& text, std::string_view line, char separator) {
  if (!text.empty()) text += separator;
  text += line;
}

/// Where the meanings of a block's items begin: their further lines say it. 0 if there are none.
std::size_t column_of_meanings(const std::vector<std::string_view>& block) {
  const auto further =
      std::ranges::find_if(block, [](std::string_view line) { return indent_of(line) > kItemIndent; });
  return further == block.end() ? 0 : indent_of(*further);
}

/// Two spaces end a term; one does where the meanings' column begins.
HelpItem item_of(std::string_view line, std::size_t column) {
  std::size_t end = std::min(line.find("  ", kItemIndent), line.size());
  if (column > kItemIndent && column < end && line[column - 1] == ' ') end = column - 1;
  const std::string_view rest = line.substr(end);
  return {.term = std::string(line.substr(kItemIndent, end - kItemIndent)),
          .meaning = std::string(rest.substr(indent_of(rest)))};
}

/// A block of lines without a blank one between. A paragraph after items begins a part of its own.
std::vector<HelpPart> parts_of(const std::vector<std::string_view>& block) {
  const bool is_nested =
      std::ranges::any_of(block, [](std::string_view line) { return indent_of(line) == kNestedIndent; });
  const std::size_t column = column_of_meanings(block);
  std::vector<HelpPart> parts(1);
  for (const std::string_view line : block) {
    const std::size_t indent = indent_of(line);
    const bool follows_items = !parts.back().items.empty() || !parts.back().table.empty();
    if (indent == 0) {
      if (follows_items) parts.emplace_back();
      append(parts.back().paragraph, line, '\n');
    } else if (is_nested) {
      append(parts.back().table, line, '\n');
    } else if (indent > kItemIndent && !parts.back().items.empty()) {
      append(parts.back().items.back().meaning, line.substr(indent), '\n');
    } else {
      parts.back().items.push_back(item_of(line, column));
    }
  }
  return parts;
}

bool has_command_lines(const HelpPart& part) {
  return std::ranges::any_of(part.items,
                             [](const HelpItem& item) { return item.term.starts_with("urnic "); });
}

bool is_paragraph(const HelpPart& part) {
  return !part.paragraph.empty() && part.items.empty() && part.table.empty();
}

/// Takes the words that lead to what follows, such as "You need this command only", from the end of the
/// text. A paragraph that ends with a point leads to nothing.
std::string take_introduction(std::string& text) {
  if (text.ends_with('.')) return {};
  const std::size_t point = std::max(text.rfind(". ") + 1, text.rfind(".\n") + 1);
  std::string introduction = text.substr(point == 0 ? 0 : point + 1);
  text.resize(point);
  return introduction;
}

void add_part(HelpText& text, HelpPart part) {
  if (is_paragraph(part) && part.paragraph.starts_with(kExitCode)) {
    text.exit_code = part.paragraph.substr(kExitCode.size());
    return;
  }
  if (!has_command_lines(part)) {
    text.description.push_back(std::move(part));
    return;
  }
  if (!part.paragraph.empty()) {
    text.description.push_back({.paragraph = std::move(part.paragraph), .items = {}, .table = {}});
  }
  HelpPart example{.paragraph = {}, .items = std::move(part.items), .table = {}};
  if (!text.description.empty() && is_paragraph(text.description.back())) {
    std::string& before = text.description.back().paragraph;
    example.paragraph = take_introduction(before);
    if (before.empty()) text.description.pop_back();
  }
  text.examples.push_back(std::move(example));
}

}  // namespace

HelpText read_help_text(std::string_view footer) {
  HelpText text;
  std::vector<std::string_view> block;
  const auto end_block = [&text, &block] {
    if (block.empty()) return;
    for (HelpPart& part : parts_of(block)) add_part(text, std::move(part));
    block.clear();
  };
  for (const std::string_view line : lines_of(footer)) {
    if (indent_of(line) == line.size()) {
      end_block();
    } else {
      block.push_back(line);
    }
  }
  end_block();
  return text;
}

}  // namespace urnic::tools
