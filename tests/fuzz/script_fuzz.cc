// Fuzz target: any protocol script, parsed and, if it parses, run.
//
// Whether the script passes does not matter. The parser may refuse anything and crash on nothing; what is run
// stays within the runner's bounds, and the transport must survive packets, work requests and times in any
// order. So that a changed byte does not end a script, it is played a second time without the lines that the
// parser refuses and without looking at what comes of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/scripts/parser.h"
#include "tests/scripts/runner.h"

namespace urnic::scripts {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void try_script(std::string_view text) {
  const auto script = parse_script(text);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!script) {
    require(!script.error().message.empty(), "a refused script is told why");
    require(script.error().line <= lines, "the line of an error exists");
    return;
  }
  require(!script.value().statements.empty(), "a script that parses has statements");
  const Outcome outcome = run_script(script.value());
  require(!outcome.failure || !outcome.failure->message.empty(), "a script that fails is told why");
}

/// Without line `number`, counted from 1.
std::string without_line(std::string text, unsigned number) {
  std::size_t begin = 0;
  for (; number > 1; --number) begin = text.find('\n', begin) + 1;
  return text.erase(begin, text.find('\n', begin) - begin);
}

void play_what_parses(std::string text) {
  constexpr int kMostRefusals = 50;
  text.insert(0, "# Whatever it says -- rule: a heading is needed\n");
  for (int refusals = 0; refusals < kMostRefusals; ++refusals) {
    const auto script = parse_script(text);
    if (script) return play_script(script.value());
    if (script.error().line < 2) return;
    text = without_line(std::move(text), script.error().line);
  }
}

}  // namespace
}  // namespace urnic::scripts

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  urnic::scripts::try_script(text);
  urnic::scripts::play_what_parses(std::string(text));
  return 0;
}
