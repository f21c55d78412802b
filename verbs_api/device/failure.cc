// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/failure.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "verbs_api/device/process_devices.h"

namespace urnic::verbs_api {
namespace {

int code_of(const Error& error) {
  return error.code != 0 ? error.code : EIO;
}

/// The call is right, and this network alone cannot do it: neither the program's code nor errno's few words
/// would say so. The program learns what the kernel's drivers say.
struct OfTheNetwork {
  int code;
  int for_program;
};
constexpr OfTheNetwork kOfTheNetwork[] = {{.code = EMSGSIZE, .for_program = EINVAL},
                                          {.code = ENONET, .for_program = ENETUNREACH}};

void write_line(std::string_view text) {
  std::string line("urnic: ");
  line += text;
  line += '\n';
  // One write, so that lines of several processes do not mix. Its failure cannot be reported.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::nullptr_t fail(int code) {
  errno = code;
  return nullptr;
}

int refuse(int code) {
  errno = code;
  return code;
}

int report(const Error& error) {
  write_line(error.message);
  return code_of(error);
}

int explain(std::string_view verb, const Error& error) {
  for (const OfTheNetwork& each : kOfTheNetwork) {
    if (error.code != each.code) continue;
    write_line(std::string(verb) + ": " + error.message);
    return each.for_program;
  }
  if (ProcessDevices::instance().tells_of_errors()) write_line(std::string(verb) + ": " + error.message);
  return code_of(error);
}

}  // namespace urnic::verbs_api
