#include "tools/command/program_file.h"

#include <elf.h>

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

bool is_statically_linked(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code)) return false;
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr elf{};
  if (!read_at(stream, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)) {
    return false;
  }
  for (std::uint64_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(stream, elf.e_phoff + i * elf.e_phentsize, segment) || segment.p_type == PT_INTERP) {
      return false;
    }
  }
  return true;
}

}  // namespace urnic::tools
