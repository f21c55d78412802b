// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/overview.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "tools/command/known_programs.h"

namespace urnic::tools {
namespace {

constexpr const char* kText =
    R"(urnic is a software RDMA NIC: programs written for RDMA hardware run on it, unmodified.

Try first:
  {:<42}whether urnic works on this machine
  {:<42}what a program sees; write any other after '--'
  {:<42}learn RDMA with packets of your own

Commands:
  programs on a NIC    run, personalities, chaos, stat, fabric, host, doctor
  their packets        view, check, replay
  another NIC          conform
  networks to try      sim
  learning             lab, sheet, explain
  your shell           completion, manual

Every command has examples: urnic COMMAND --help. Its page: urnic manual COMMAND | man -l -
)";

/// A line about the pages that are installed beside the program; empty in a build.
std::string about_pages() {
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto pages = executable.parent_path().parent_path() / "share" / "doc" / "urnic";
  if (!std::filesystem::exists(pages, ignored)) return {};
  return fmt::format("Pages: {}/\n", pages.string());
}

}  // namespace

std::string overview() {
  return fmt::format(kText, "urnic doctor", "urnic run -- " + example_command(), "urnic lab 1") +
         about_pages();
}

}  // namespace urnic::tools
