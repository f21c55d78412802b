// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/loader/loaded_libraries.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>

#include "tools/runtime/loader/loader_environment.h"

namespace urnic::tools {
namespace {

Error system_error(const char* call) {
  const int code = errno;
  return {.code = code, .message = std::string(call) + ": " + std::generic_category().message(code)};
}

/// What the command prints, errors too, and how it ended (as waitpid() has it).
struct Said {
  std::string text;
  int status = 0;
};

Result<Said, Error> ask(const std::filesystem::path& linker, const std::filesystem::path& file,
                        const std::string& dropin) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe2");
  const pid_t child = fork();
  if (child == 0) {
    lead_to_dropin(dropin);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execl(linker.c_str(), linker.c_str(), "--list", file.c_str(), nullptr);
    _exit(127);
  }
  const Error fork_error = system_error("fork");
  ::close(ends[1]);
  Said said;
  std::array<char, 4096> piece;
  for (ssize_t count = 0; child > 0 && (count = read(ends[0], piece.data(), piece.size())) != 0;) {
    if (count > 0) said.text.append(piece.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  if (child < 0) return fork_error;
  while (waitpid(child, &said.status, 0) < 0 && errno == EINTR) continue;
  return said;
}

}  // namespace

std::vector<LoadedLibrary> parse_loaded_libraries(const std::string& text) {
  std::vector<LoadedLibrary> libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)", "\tlibx.so => not found",
    // "\t/lib/libx.so (0x...)".
    if (!line.starts_with('\t')) continue;
    const std::size_t arrow = line.find(" => ");
    const std::size_t address = line.rfind(" (0x");
    const std::string name = line.substr(1, std::min(arrow, address) - 1);
    const std::size_t begin = arrow == std::string::npos ? 1 : arrow + 4;
    const std::string path = address == std::string::npos ? "" : line.substr(begin, address - begin);
    libraries.push_back({.name = name, .path = path});
  }
  return libraries;
}

const LoadedLibrary* find_library(const std::vector<LoadedLibrary>& libraries, std::string_view begin) {
  const auto found = std::find_if(libraries.begin(), libraries.end(), [&](const LoadedLibrary& library) {
    return std::filesystem::path(library.name).filename().string().starts_with(begin);
  });
  return found == libraries.end() ? nullptr : &*found;
}

Result<std::vector<LoadedLibrary>, Error> loaded_libraries(const std::filesystem::path& linker,
                                                           const std::filesystem::path& file,
                                                           const std::string& dropin) {
  const auto said = ask(linker, file, dropin);
  if (!said) return said.error();
  if (WIFEXITED(said.value().status) && WEXITSTATUS(said.value().status) == 0) {
    return parse_loaded_libraries(said.value().text);
  }
  std::string reason = said.value().text.substr(0, said.value().text.find('\n'));
  if (reason.empty()) reason = linker.string() + " cannot be run";
  return Error{.code = ENOEXEC, .message = reason};
}

}  // namespace urnic::tools
