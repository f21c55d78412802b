// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/abi/command_file.h"

#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "nic/process/memory_file.h"

namespace urnic::verbs_api {
namespace {

constexpr const char* kName = "urnic";
/// How the system shows a memfd of that name.
constexpr std::string_view kShownName = "/memfd:urnic";

}  // namespace

// Programs hand this descriptor around and look at its number; there is no kernel that takes commands from
// it.
int CommandFile::create() {
  return nic::make_memory_file(kName);
}

bool CommandFile::is_one(int fd) {
  std::array<char, 64> shown{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), shown.data(), shown.size());
  return length > 0 &&
         std::string_view(shown.data(), static_cast<std::size_t>(length)).starts_with(kShownName);
}

}  // namespace urnic::verbs_api
