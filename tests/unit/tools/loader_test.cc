// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "tests/unit/tools/temporary_environment.h"
#include "tools/runtime/audit/library_name.h"
#include "tools/runtime/loader/loaded_libraries.h"
#include "tools/runtime/loader/loader_environment.h"

namespace urnic::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

TEST(PutFirst, AddsNoEmptyEntry) {
  constexpr const char* kList = "URNIC_TEST_LIST";
  unsetenv(kList);
  put_first(kList, "/a");
  EXPECT_EQ(text_of(kList), "/a");
  put_first(kList, "/b");
  EXPECT_EQ(text_of(kList), "/b:/a");
  setenv(kList, "", 1);
  put_first(kList, "/a");
  EXPECT_EQ(text_of(kList), "/a") << "an empty entry would mean the current folder";
  unsetenv(kList);
}

class LeadToDropin : public TemporaryEnvironment {
 protected:
  ~LeadToDropin() override {
    unsetenv("LD_AUDIT");
    unsetenv("LD_LIBRARY_PATH");
  }
};

TEST_F(LeadToDropin, NamesTheAuditorOnceHoweverOftenItIsCalled) {
  setenv("LD_AUDIT", "/other.so", 1);
  lead_to_dropin("/lib/urnic");
  lead_to_dropin("/lib/urnic");
  EXPECT_EQ(text_of("LD_AUDIT"), "/lib/urnic/liburnic_audit.so:/other.so");
  EXPECT_THAT(text_of("LD_LIBRARY_PATH"), ::testing::StartsWith("/lib/urnic"));
}

TEST(LoadedLibraries, AreReadFromWhatTheDynamicLinkerPrints) {
  const auto found = parse_loaded_libraries(
      "\tlinux-vdso.so.1 (0x00007ffd0)\n"
      "\tlibibverbs.so.1 => /opt/lib urnic/libibverbs.so.1 (0x00007f0a)\n"
      "\tlibgone.so.2 => not found\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f1b)\n"
      "a warning about something else\n");
  EXPECT_THAT(found,
              ElementsAre(LoadedLibrary{"linux-vdso.so.1", "linux-vdso.so.1"},
                          LoadedLibrary{"libibverbs.so.1", "/opt/lib urnic/libibverbs.so.1"},
                          LoadedLibrary{"libgone.so.2", ""},
                          LoadedLibrary{"/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2"}));
  EXPECT_THAT(parse_loaded_libraries(""), IsEmpty());
  EXPECT_THAT(parse_loaded_libraries("\t\n\t => \n"), ::testing::SizeIs(2));
}

TEST(LoadedLibraries, AreNotKnownOfWhatIsNoProgram) {
  const auto failed = loaded_libraries("/no/such/linker", "/bin/sh", "/lib/urnic");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("/no/such/linker"));
}

TEST(LibraryName, IsALibibverbsUnderEachNameThatItHas) {
  for (const char* const name :
       {"libibverbs.so", "libibverbs.so.1", "/usr/lib/libibverbs.so.1.14.44.0",
        "libibverbs-1de1263b.so.1.14.48.0", "/venv/nixl.libs/libibverbs-0a9f.so.1", "./libibverbs.so.1"}) {
    EXPECT_TRUE(audit::is_libibverbs(name)) << name;
  }
}

TEST(LibraryName, IsNoLibibverbsWhenItOnlyResemblesOne) {
  for (const char* const name :
       {"", "/", "libibverbs", "libibverbs.so1", "libibverbs.a", "libibverbs_probe.so", "libibverbs-x.so.1",
        "libibverbs-debug.so", "libmlx5-rdmav34.so", "librdmacm.so.1", "libibverbs.so/libmlx5.so",
        "mylibibverbs.so.1"}) {
    EXPECT_FALSE(audit::is_libibverbs(name)) << name;
  }
}

}  // namespace
}  // namespace urnic::tools
