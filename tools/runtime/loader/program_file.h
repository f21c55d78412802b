// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A program's file: what is in it that decides whether the dynamic linker can give it urnic's libibverbs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace urnic::tools {

/// The first file that `program` could mean to a shell: itself when it has a slash, otherwise one of that
/// name in a folder of PATH. Nothing when there is none.
std::optional<std::filesystem::path> find_program(const std::string& program);

/// The program that a script names in its first line; "#!/usr/bin/env NAME" means NAME, as a shell finds it.
/// Nothing for a file that is no script, or whose program is not there.
std::optional<std::filesystem::path> script_interpreter(const std::filesystem::path& file);

/// The dynamic linker that a 64-bit ELF program names. Nothing for whatever is no such program or cannot be
/// read.
std::optional<std::filesystem::path> dynamic_linker(const std::filesystem::path& file);

/// Why a program cannot have urnic's libibverbs.
enum class Obstacle : std::uint8_t {
  kNone,
  /// A 64-bit ELF program that names no dynamic linker: it loads no libibverbs at all.
  kStatic,
  /// The dynamic linker is not glibc's: musl's reads no LD_AUDIT, and cannot load what glibc's can.
  kOtherLinker,
  /// It has more rights than the user who starts it (set-user-ID, capabilities): the linker ignores LD_*.
  kPrivileged,
};

/// kNone, too, for what is no ELF program or cannot be read.
Obstacle find_obstacle(const std::filesystem::path& file);

/// Whether the file is a Go program.
bool is_go_program(const std::filesystem::path& file);

/// Whether the program in it reads files by functions that no preloaded library can take: it has no C
/// library, or another than glibc, or it is in Go, which calls the kernel itself also beside the C library.
bool calls_kernel_itself(const std::filesystem::path& file);

/// What that means and what to do, as a sentence about `program`, for a person; empty for kNone.
std::string describe(Obstacle obstacle, const std::string& program);

}  // namespace urnic::tools
