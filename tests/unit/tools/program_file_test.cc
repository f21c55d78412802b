#include "tools/command/program_file.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/tools/temporary_environment.h"

namespace urnic::tools {
namespace {

class ProgramFile : public TemporaryEnvironment {
 protected:
  std::string file(const std::string& bytes) const {
    std::ofstream(folder() + "/program", std::ios::binary) << bytes;
    return folder() + "/program";
  }
  static std::string elf(const std::vector<std::uint32_t>& segments) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_DYN;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    for (const std::uint32_t type : segments) {
      Elf64_Phdr segment{};
      segment.p_type = type;
      bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    }
    return bytes;
  }
};

TEST_F(ProgramFile, IsStaticWithoutADynamicLinker) {
  EXPECT_FALSE(is_statically_linked("/proc/self/exe"));
  EXPECT_FALSE(is_statically_linked(file(elf({PT_PHDR, PT_INTERP, PT_LOAD}))));
  EXPECT_TRUE(is_statically_linked(file(elf({PT_LOAD, PT_LOAD}))));
  EXPECT_TRUE(is_statically_linked(file(elf({PT_LOAD, PT_DYNAMIC})))) << "a static PIE";
}

TEST_F(ProgramFile, IsNotCalledStaticWhenItIsSomethingElse) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string("\177ELF"),
                                   elf({PT_LOAD, PT_LOAD}).substr(0, sizeof(Elf64_Ehdr) + 10)}) {
    EXPECT_FALSE(is_statically_linked(file(bytes))) << bytes;
  }
  EXPECT_FALSE(is_statically_linked(folder()));
  EXPECT_FALSE(is_statically_linked(folder() + "/nothing"));
  EXPECT_FALSE(is_statically_linked("/dev/zero"));
}

TEST_F(ProgramFile, IsFoundAsAShellFindsIt) {
  EXPECT_EQ(find_program("sh")->filename(), "sh");
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program"));
  EXPECT_FALSE(find_program("/no/such/program"));
}

}  // namespace
}  // namespace urnic::tools
