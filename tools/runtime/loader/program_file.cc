// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/loader/program_file.h"

#include <elf.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace urnic::tools {
namespace {

template <typename Header>
bool read_at(std::ifstream& stream, std::uint64_t offset, Header& header) {
  stream.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(stream.read(reinterpret_cast<char*>(&header), sizeof header));
}

/// As much of a script as the kernel reads for its first line.
constexpr std::size_t kLongestFirstLine = 256;

struct ElfProgram {
  std::string linker;  ///< empty: statically linked
  bool is_go = false;  ///< has the note with a build ID that Go's linker writes
};

/// More than the notes of any program take.
constexpr std::uint64_t kMostNotes = 65536;

/// Whether one of the notes in a segment is by Go: its name is "Go" and its type 4.
bool has_go_note(std::ifstream& stream, const Elf64_Phdr& segment) {
  constexpr std::uint32_t kGoBuildId = 4;
  constexpr std::string_view kGo("Go\0", 3);
  std::string notes(std::min(segment.p_filesz, kMostNotes), '\0');
  stream.seekg(static_cast<std::streamoff>(segment.p_offset));
  if (!stream.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return false;
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const bool is_go = note.n_type == kGoBuildId && note.n_namesz > 0 && at + note.n_namesz <= notes.size() &&
                       std::string_view(notes).substr(at, kGo.size()) == kGo;
    if (is_go) return true;
    at += padded(note.n_namesz) + padded(note.n_descsz);
  }
  return false;
}

/// Nothing for what is no 64-bit ELF program.
std::optional<ElfProgram> read_program(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code)) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr elf{};
  if (!read_at(stream, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)) {
    return std::nullopt;
  }
  ElfProgram program;
  for (std::uint64_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(stream, elf.e_phoff + i * elf.e_phentsize, segment)) return std::nullopt;
    if (segment.p_type == PT_NOTE && has_go_note(stream, segment)) program.is_go = true;
    stream.clear();
    if (segment.p_type != PT_INTERP) continue;
    std::string linker(std::min<std::uint64_t>(segment.p_filesz, PATH_MAX), '\0');
    stream.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!stream.read(linker.data(), static_cast<std::streamsize>(linker.size()))) return std::nullopt;
    linker = linker.c_str();
    if (linker.empty()) return std::nullopt;
    program.linker = linker;
  }
  return program;
}

/// Whether the kernel runs it with AT_SECURE, as secure_getenv(3) has it.
bool has_more_rights(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return false;
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  const bool has_capabilities =
      geteuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return changes_user || changes_group || has_capabilities;
}

}  // namespace

std::optional<std::filesystem::path> find_program(const std::string& program) {
  std::error_code code;
  if (program.find('/') != std::string::npos) {
    return std::filesystem::exists(program, code) ? std::optional(program) : std::nullopt;
  }
  const char* const path = secure_getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    auto file = std::filesystem::path(folder) / program;
    if (std::filesystem::exists(file, code)) return file;
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> script_interpreter(const std::filesystem::path& file) {
  std::error_code code;
  std::ifstream stream(file, std::ios::binary);
  std::string line(kLongestFirstLine, '\0');
  if (!std::filesystem::is_regular_file(file, code)) return std::nullopt;
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(stream.gcount()));
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("#!")) return std::nullopt;
  std::istringstream words(line.substr(2));
  std::string program;
  words >> program;
  if (std::filesystem::path(program).filename() == "env") {
    // env's own options and variables come before the name.
    do {
      program.clear();
      words >> program;
    } while (program.starts_with('-') || program.find('=') != std::string::npos);
  }
  return program.empty() ? std::nullopt : find_program(program);
}

std::optional<std::filesystem::path> dynamic_linker(const std::filesystem::path& file) {
  const auto program = read_program(file);
  if (!program || program->linker.empty()) return std::nullopt;
  return program->linker;
}

bool is_go_program(const std::filesystem::path& file) {
  const auto program = read_program(file);
  return program && program->is_go;
}

Obstacle find_obstacle(const std::filesystem::path& file) {
  const auto program = read_program(file);
  if (!program) return Obstacle::kNone;
  if (program->linker.empty()) return Obstacle::kStatic;
  if (!std::filesystem::path(program->linker).filename().string().starts_with("ld-linux")) {
    return Obstacle::kOtherLinker;
  }
  return has_more_rights(file) ? Obstacle::kPrivileged : Obstacle::kNone;
}

bool calls_kernel_itself(const std::filesystem::path& file) {
  const Obstacle obstacle = find_obstacle(file);
  return obstacle == Obstacle::kStatic || obstacle == Obstacle::kOtherLinker || is_go_program(file);
}

std::string describe(Obstacle obstacle, const std::string& program) {
  switch (obstacle) {
    case Obstacle::kNone:
      return "";
    case Obstacle::kStatic:
      return program +
             " is statically linked: it does not load urnic's libibverbs and sees no device of urnic, only "
             "its files; programs that it starts may. Link it dynamically to use the device";
    case Obstacle::kOtherLinker:
      return program +
             " has another dynamic linker than glibc's, musl's perhaps: it cannot load urnic's libibverbs. "
             "Use a build of it "
             "for glibc";
    case Obstacle::kPrivileged:
      return program +
             " has more rights than you (set-user-ID, set-group-ID or capabilities): the dynamic linker then "
             "ignores what "
             "leads to urnic's libibverbs. Run urnic with those rights: sudo urnic run -- ...";
  }
  return "";
}

}  // namespace urnic::tools
