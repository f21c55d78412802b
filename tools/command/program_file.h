// What `urnic run` finds out about the program before it becomes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace urnic::tools {

/// The first file that `program` could mean to a shell: itself when it has a slash, otherwise one of that
/// name in a folder of PATH. Nothing when there is none.
std::optional<std::filesystem::path> find_program(const std::string& program);

/// Whether `file` is a 64-bit ELF program that names no dynamic linker. Such a program loads no libibverbs,
/// ours or the system's. False for whatever is not an ELF program or cannot be read.
bool is_statically_linked(const std::filesystem::path& file);

}  // namespace urnic::tools
