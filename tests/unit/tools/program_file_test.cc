// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/loader/program_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/tools/temporary_environment.h"

namespace urnic::tools {
namespace {

constexpr std::string_view kGlibcsLinker = "/lib64/ld-linux-x86-64.so.2";

class ProgramFile : public TemporaryEnvironment {
 protected:
  std::string file(const std::string& bytes) const {
    std::ofstream(folder() + "/program", std::ios::binary) << bytes;
    return folder() + "/program";
  }
  /// With these segments; one of type PT_INTERP names `linker`, which stands after them.
  static std::string elf(const std::vector<std::uint32_t>& segments,
                         std::string_view linker = kGlibcsLinker) {
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
      segment.p_offset = sizeof header + segments.size() * sizeof segment;
      segment.p_filesz = linker.size() + 1;
      bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    }
    return bytes + std::string(linker) + '\0';
  }
  static std::string dynamic(std::string_view linker) { return elf({PT_PHDR, PT_INTERP, PT_LOAD}, linker); }
};

TEST_F(ProgramFile, IsStaticWithoutADynamicLinker) {
  EXPECT_EQ(find_obstacle("/proc/self/exe"), Obstacle::kNone);
  EXPECT_EQ(find_obstacle(file(dynamic(kGlibcsLinker))), Obstacle::kNone);
  EXPECT_EQ(find_obstacle(file(elf({PT_LOAD, PT_LOAD}))), Obstacle::kStatic);
  EXPECT_EQ(find_obstacle(file(elf({PT_LOAD, PT_DYNAMIC}))), Obstacle::kStatic) << "a static PIE";
}

TEST_F(ProgramFile, IsInGoWithTheNoteOfItsLinker) {
  // Namesz, descsz, type, the name padded to four bytes, the build ID; after a note of another linker.
  const auto note = [](std::uint32_t type, const std::string& name, const std::string& text) {
    std::string bytes;
    for (const std::uint32_t word :
         {static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(text.size()), type}) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    for (const std::string& part : {name, text}) {
      bytes += part;
      bytes.append((4 - part.size() % 4) % 4, '\0');
    }
    return bytes;
  };
  const std::string gnu = note(3, std::string("GNU\0", 4), "12345678901234567890");
  const std::string go = note(4, std::string("Go\0", 3), "an ID");
  EXPECT_TRUE(is_go_program(file(elf({PT_LOAD, PT_NOTE}, gnu + go))));
  EXPECT_FALSE(is_go_program(file(elf({PT_LOAD, PT_NOTE}, gnu))));
  EXPECT_FALSE(is_go_program(file(elf({PT_LOAD, PT_NOTE}, gnu + go.substr(0, 13)))));
  EXPECT_FALSE(is_go_program(file(elf({PT_LOAD, PT_LOAD}, go)))) << "no note";
  EXPECT_FALSE(is_go_program("/proc/self/exe"));
  EXPECT_TRUE(calls_kernel_itself(file(elf({PT_LOAD, PT_LOAD})))) << "static";
  EXPECT_FALSE(calls_kernel_itself(file(dynamic(kGlibcsLinker))));
  EXPECT_TRUE(calls_kernel_itself(file(dynamic("/lib/ld-musl-x86_64.so.1"))));
}

TEST_F(ProgramFile, HasNoObstacleWhenItIsSomethingElse) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string("\177ELF"),
                                   elf({PT_LOAD, PT_LOAD}).substr(0, sizeof(Elf64_Ehdr) + 10),
                                   dynamic("").substr(0, sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr))}) {
    EXPECT_EQ(find_obstacle(file(bytes)), Obstacle::kNone) << bytes;
    EXPECT_EQ(dynamic_linker(file(bytes)), std::nullopt) << bytes;
  }
  EXPECT_EQ(find_obstacle(folder()), Obstacle::kNone);
  EXPECT_EQ(find_obstacle(folder() + "/nothing"), Obstacle::kNone);
  EXPECT_EQ(find_obstacle("/dev/zero"), Obstacle::kNone);
}

TEST_F(ProgramFile, NamesItsDynamicLinker) {
  EXPECT_EQ(dynamic_linker(file(dynamic("/opt/ld-linux-x86-64.so.2"))), "/opt/ld-linux-x86-64.so.2");
  EXPECT_EQ(dynamic_linker(file(elf({PT_LOAD}))), std::nullopt);
  EXPECT_EQ(find_obstacle(file(dynamic("/lib/ld-musl-x86_64.so.1"))), Obstacle::kOtherLinker);
}

TEST_F(ProgramFile, HasMoreRightsThanWhoStartsIt) {
  const std::string program = file(dynamic(kGlibcsLinker));
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(find_obstacle(program), Obstacle::kNone) << "of the same user";
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(chown(program.c_str(), 65534, 0), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(find_obstacle(program), Obstacle::kPrivileged);
  ASSERT_EQ(chown(program.c_str(), 0, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 02755), 0);
  EXPECT_EQ(find_obstacle(program), Obstacle::kPrivileged);
}

TEST_F(ProgramFile, HasASentenceForEachObstacle) {
  EXPECT_EQ(describe(Obstacle::kNone, "p"), "");
  for (const Obstacle obstacle : {Obstacle::kStatic, Obstacle::kOtherLinker, Obstacle::kPrivileged}) {
    EXPECT_TRUE(describe(obstacle, "prog").starts_with("prog ")) << describe(obstacle, "prog");
  }
}

TEST_F(ProgramFile, OfAScriptNamesWhatRunsIt) {
  EXPECT_EQ(script_interpreter(file("#!/bin/sh\nexit\n")), "/bin/sh");
  EXPECT_EQ(script_interpreter(file("#! /bin/sh -e")), "/bin/sh");
  EXPECT_EQ(script_interpreter(file("#!/usr/bin/env sh\n"))->filename(), "sh");
  EXPECT_EQ(script_interpreter(file("#!/usr/bin/env -S A=1 sh -e\n"))->filename(), "sh");
  for (const std::string& bytes :
       {std::string(), std::string("#!"), std::string("#!\n/bin/sh"), std::string("#!/nothing"),
        std::string("#!/usr/bin/env\n"), dynamic(kGlibcsLinker)}) {
    EXPECT_EQ(script_interpreter(file(bytes)), std::nullopt) << bytes;
  }
}

TEST_F(ProgramFile, IsFoundAsAShellFindsIt) {
  EXPECT_EQ(find_program("sh")->filename(), "sh");
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program"));
  EXPECT_FALSE(find_program("/no/such/program"));
}

}  // namespace
}  // namespace urnic::tools
