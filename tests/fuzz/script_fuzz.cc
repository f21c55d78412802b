// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any protocol script, of a queue pair or about connections, parsed and, if it parses, run.
//
// Whether the script passes does not matter. The parser may refuse anything and crash on nothing; what is run
// stays within the runner's bounds. The transport must survive packets, work requests and times in any order,
// and the connection manager must survive MADs and the requests of programs. So that a changed byte does not
// end a script, it is played a second time, without the lines that the parser refuses and without looking at
// results.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/scripts/connections/rdma_cm_stage.h"
#include "tests/scripts/transport_stage.h"
#include "tools/conformance/script/connections/dialect.h"
#include "tools/conformance/script/parser.h"

namespace urnic::scripts {
namespace {

struct Kind {
  Result<Script, ScriptError> (*parse)(std::string_view text);
  Outcome (*run)(const Script& script);
  void (*play)(const Script& script);
};
constexpr Kind kKinds[] = {{parse_script, run_script, play_script},
                           {connections::parse_connection_script, connections::run_connection_script,
                            connections::play_connection_script}};

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void try_script(const Kind& kind, std::string_view text) {
  const auto script = kind.parse(text);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!script) {
    require(!script.error().message.empty(), "a refused script is told why");
    require(script.error().line <= lines, "the line of an error exists");
    return;
  }
  require(!script.value().statements.empty(), "a script that parses has statements");
  const Outcome outcome = kind.run(script.value());
  require(!outcome.failure || !outcome.failure->message.empty(), "a script that fails is told why");
}

/// Without line `number`, counted from 1.
std::string without_line(std::string text, unsigned number) {
  std::size_t begin = 0;
  for (; number > 1; --number) begin = text.find('\n', begin) + 1;
  return text.erase(begin, text.find('\n', begin) - begin);
}

void play_what_parses(const Kind& kind, std::string text) {
  constexpr int kMostRefusals = 50;
  text.insert(0, "# Whatever it says -- rule: a heading is needed\n");
  for (int refusals = 0; refusals < kMostRefusals; ++refusals) {
    const auto script = kind.parse(text);
    if (script) return kind.play(script.value());
    if (script.error().line < 2) return;
    text = without_line(std::move(text), script.error().line);
  }
}

}  // namespace
}  // namespace urnic::scripts

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const urnic::scripts::Kind& kind : urnic::scripts::kKinds) {
    urnic::scripts::try_script(kind, text);
    urnic::scripts::play_what_parses(kind, std::string(text));
  }
  return 0;
}
