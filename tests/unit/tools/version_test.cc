// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/version.h"

#include <gmock/gmock.h>

#include <string>

#include "nic/memory/crc_copy.h"

namespace urnic::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Version some_version() {
  return {.number = "1.2.3",
          .commit = "v1.2.3-0-g0123abc",
          .build = {.type = "Release",
                    .compiler = "GNU 12.2.0",
                    .machine = "x86_64",
                    .dpdk = "22.11.9",
                    .sanitizers = "",
                    .has_lto = true,
                    .first_node = "IBVERBS_1.0",
                    .last_node = "IBVERBS_1.18",
                    .private_nodes = "34 57"},
          .processor = {"pclmulqdq", "avx"},
          .crc_copy = "PCLMULQDQ",
          .catches_faults = true};
}

TEST(Version, IsTextWhoseFirstLineIsTheNumberAlone) {
  EXPECT_EQ(text_of(some_version()),
            "urnic 1.2.3\n"
            "commit       v1.2.3-0-g0123abc\n"
            "build        Release, LTO, DPDK 22.11.9, GNU 12.2.0, x86_64\n"
            "libibverbs   IBVERBS_1.0 to IBVERBS_1.18, IBVERBS_PRIVATE_34, 57\n"
            "processor    pclmulqdq, avx\n"
            "CRC-32       ISA-L; while a packet is copied PCLMULQDQ\n"
            "lost memory  fails the work request that uses it");
}

TEST(Version, NamesNoLibibverbsOfABuildThatHasNone) {
  Version version = some_version();
  version.build.dpdk = "";
  version.build.sanitizers = "address";
  EXPECT_THAT(text_of(version), Not(HasSubstr("IBVERBS_")));
  EXPECT_THAT(text_of(version), HasSubstr("no DPDK, and so no libibverbs for programs, -fsanitize=address"));
  EXPECT_TRUE(json_of(version)["libibverbs"].is_null());
  EXPECT_TRUE(json_of(version)["build"]["dpdk"].is_null());
}

TEST(Version, SaysWhatAPlainProcessorDoesWithout) {
  Version version = some_version();
  version.processor.clear();
  version.crc_copy.clear();
  version.catches_faults = false;
  EXPECT_THAT(text_of(version), HasSubstr("processor    none of those that urnic asks about\n"
                                          "CRC-32       ISA-L, after a packet has been copied\n"
                                          "lost memory  ends the program that uses it"));
  EXPECT_TRUE(json_of(version)["crc_copy"].is_null());
}

TEST(Version, IsAnObjectForPrograms) {
  EXPECT_EQ(json_of(some_version()).dump(),
            R"({"version":"1.2.3","commit":"v1.2.3-0-g0123abc","build":{"type":"Release","lto":true,)"
            R"("dpdk":"22.11.9","sanitizers":null,"compiler":"GNU 12.2.0","machine":"x86_64"},)"
            R"("libibverbs":{"first":"IBVERBS_1.0","last":"IBVERBS_1.18","private":[34,57]},)"
            R"("processor":["pclmulqdq","avx"],"crc_copy":"PCLMULQDQ","catches_faults":true})");
}

TEST(Version, OfThisBuildIsWhatCMakeAndTheNicSay) {
  const Version version = this_version();
  EXPECT_EQ(version.number, URNIC_VERSION);
  EXPECT_THAT(version.commit, Not(::testing::IsEmpty()));
  EXPECT_THAT(version.build.first_node, StartsWith("IBVERBS_1."));
  EXPECT_THAT(version.build.last_node, StartsWith("IBVERBS_1."));
  EXPECT_THAT(version.build.private_nodes, StartsWith("34 "));
  const bool copies_at_once = nic::best_crc_copy != nullptr;
  EXPECT_EQ(version.crc_copy.empty(), !copies_at_once);
}

}  // namespace
}  // namespace urnic::tools
