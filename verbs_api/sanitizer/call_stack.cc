// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/call_stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

extern char** environ;

namespace urnic::verbs_api {
namespace {

constexpr int kMostCalls = 32;

struct Frame {
  std::uintptr_t address;  ///< within the call, not after it
  Dl_info module;
};

/// The file's own number of an address: what addr2line wants.
std::uintptr_t file_address(const Frame& frame) {
  const auto base = reinterpret_cast<std::uintptr_t>(frame.module.dli_fbase);
  ElfW(Ehdr) header;
  std::memcpy(&header, frame.module.dli_fbase, sizeof header);
  return header.e_type == ET_EXEC ? frame.address : frame.address - base;
}

/// The calls in the program and its libraries, from the one that called urnic on.
std::vector<Frame> frames_of(const std::vector<void*>& addresses) {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&CallPath::here), &own);
  std::vector<Frame> result;
  for (void* const address : addresses) {
    Frame frame{.address = reinterpret_cast<std::uintptr_t>(address) - 1, .module = {}};
    const bool is_known = dladdr(reinterpret_cast<const void*>(frame.address), &frame.module) != 0;
    if (!is_known || frame.module.dli_fname == nullptr) break;
    if (frame.module.dli_fbase != own.dli_fbase) result.push_back(frame);
  }
  return result;
}

std::string plain_text(const Frame& frame) {
  const std::string_view function = frame.module.dli_sname != nullptr ? frame.module.dli_sname : "?";
  return fmt::format("{} ({}+{:#x})", function, frame.module.dli_fname, file_address(frame));
}

/// Without what leads programs to urnic: addr2line is none of them.
std::vector<char*> plain_environment() {
  std::vector<char*> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("LD_AUDIT=")) result.push_back(*entry);
  }
  result.push_back(nullptr);
  return result;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  ssize_t length = 0;
  while ((length = ::read(descriptor, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(length));
  }
  return text;
}

/// "main at mistakes.c:12" of " (inlined by) main at mistakes.c:12 (discriminator 3)".
std::string cleaned(std::string line) {
  constexpr std::string_view kInlined = " (inlined by) ";
  if (line.starts_with(kInlined)) line.erase(0, kInlined.size());
  if (const auto end = line.find(" (discriminator"); end != std::string::npos) line.erase(end);
  return line;
}

/// What addr2line says of one address of one file: a line for each function that was inlined there, the
/// innermost first, and one for the function itself. Empty: it knows nothing.
std::vector<std::string> ask_addr2line(const Frame& frame) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string address = fmt::format("{:#x}", file_address(frame));
  const char* const words[] = {"addr2line",     "-C",   "-f", "-i", "-p", "-e", frame.module.dli_fname,
                               address.c_str(), nullptr};
  std::vector<char*> environment = plain_environment();
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, words[0], &actions, nullptr, const_cast<char* const*>(words), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text = error == 0 ? read_all(ends[0]) : "";
  ::close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  if (text.find("??:") != std::string::npos) return {};
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    lines.push_back(cleaned(text.substr(0, end)));
    text.erase(0, end + 1);
  }
  return lines;
}

/// A verb that a header defines, as a part of the program: its caller is of interest.
bool is_verb(std::string_view line) {
  return line.starts_with("ibv_") || line.starts_with("rdma_");
}

}  // namespace

CallPath CallPath::here() {
  std::array<void*, kMostCalls> addresses;
  const int count = backtrace(addresses.data(), kMostCalls);
  CallPath path;
  path.addresses_.assign(addresses.begin(), addresses.begin() + count);
  return path;
}

std::vector<std::string> CallPath::lines() const {
  std::vector<std::string> lines;
  for (const Frame& frame : frames_of(addresses_)) {
    std::vector<std::string> calls = ask_addr2line(frame);
    if (calls.empty()) calls.push_back(plain_text(frame));
    for (std::string& call : calls) {
      if (call.starts_with("__libc_start")) return lines;
      const bool is_main = call.starts_with("main ");
      if (!is_verb(call)) lines.push_back(std::move(call));
      if (is_main) return lines;  // what follows is libc's
    }
  }
  return lines;
}

}  // namespace urnic::verbs_api
