// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/loader/loader_environment.h"

#include <cstdlib>
#include <string_view>

namespace urnic::tools {

namespace {

void put_first(const char* variable, const std::string& word, char separator) {
  const char* const present = secure_getenv(variable);
  const bool is_alone = present == nullptr || *present == '\0';
  setenv(variable, (is_alone ? word : word + separator + present).c_str(), 1);
}

bool begins_with(const char* variable, std::string_view word) {
  const char* const present = secure_getenv(variable);
  return present != nullptr && std::string_view(present).starts_with(word);
}

}  // namespace

void put_first(const char* variable, const std::string& word) {
  put_first(variable, word, ':');
}

void lead_to_dropin(const std::string& dropin) {
  const std::string auditor = dropin + "/liburnic_audit.so";
  // Named twice, as by a run inside a run, it would be loaded twice.
  if (!begins_with("LD_AUDIT", auditor)) put_first("LD_AUDIT", auditor);
  // At the end valgrind has the C library free what the dynamic linker made for auditors before there was a
  // malloc(), and complains.
  constexpr const char* kFreesNothing = "--run-libc-freeres=no";
  if (!begins_with("VALGRIND_OPTS", kFreesNothing)) put_first("VALGRIND_OPTS", kFreesNothing, ' ');
  put_first("LD_LIBRARY_PATH", dropin);
}

}  // namespace urnic::tools
