// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What --help of a command says below its options (its footer), taken apart for its manual page. Parts end
// with a blank line: paragraphs, items, and "Exit code: ...". Items with command lines of urnic are its
// examples.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace urnic::tools {

/// "  TERM    what it means", with further lines that are indented more.
struct HelpItem {
  std::string term;
  std::string meaning;  ///< may be empty: a command line that explains itself
};

/// A paragraph and the items below it; either may be missing.
struct HelpPart {
  std::string paragraph;
  std::vector<HelpItem> items;
  std::string table;  ///< in place of items, lines that stay as they are: items within items
};

struct HelpText {
  std::vector<HelpPart> description;
  std::vector<HelpPart> examples;  ///< parts with command lines of urnic, and the words that lead to them
  std::string exit_code;           ///< the paragraph about it, without its first words
};

HelpText read_help_text(std::string_view footer);

}  // namespace urnic::tools
