// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is wrong with the words that a person wrote after `urnic`, and what to write instead.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace urnic::tools {

/// A line for complain(), about what `app` could not parse.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The same about a first word that is neither a command nor an option. `words` begin with it.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words);

/// A check of an option: whole numbers from `least` on, and an error in words.
std::function<std::string(const std::string&)> whole_number(std::uint64_t least = 0);

}  // namespace urnic::tools
