// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/program_judgement.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace urnic::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kDropin = "/opt/urnic/lib/urnic/libibverbs.so.1";
constexpr Framework kUcx{"UCX", "libucs", "ucx", "libuct_ib", "UCX_NET_DEVICES=urnic0:1"};
constexpr Framework kOpenMpi{"Open MPI", "libopen-pal", "openmpi", "mca_pml_ucx", "'mpirun --mca pml ucx'"};
constexpr Framework kNccl{"NCCL", "libnccl", "", "", "NCCL_IB_HCA=urnic0"};

/// One that loads these libraries.
ProgramFacts program(std::vector<LoadedLibrary> libraries) {
  ProgramFacts facts;
  facts.program = "prog";
  facts.file = "/usr/bin/prog";
  facts.libraries = std::move(libraries);
  facts.dropin = kDropin;
  return facts;
}

FrameworkFacts framework(const Framework& which, const std::string& part, std::vector<LoadedLibrary> loads) {
  FrameworkFacts facts;
  facts.framework = &which;
  facts.part = part;
  facts.searched = "/usr/lib/plugins";
  facts.loads = std::move(loads);
  return facts;
}

Finding finding(const ProgramFacts& facts, const std::string& check) {
  for (const Finding& it : judge(facts)) {
    if (it.check == check) return it;
  }
  ADD_FAILURE() << "no finding about " << check;
  return {};
}

TEST(ProgramJudgement, SaysWhoseLibibverbsTheProgramGets) {
  const Finding ours = finding(program({{"libibverbs.so.1", kDropin}}), "libibverbs");
  EXPECT_EQ(ours.verdict, Verdict::kGood);
  const Finding other = finding(program({{"libibverbs.so.1", "/usr/lib/libibverbs.so.1"}}), "libibverbs");
  EXPECT_EQ(other.verdict, Verdict::kProblem);
  EXPECT_THAT(other.found, HasSubstr("/usr/lib/libibverbs.so.1, not urnic's"));
  const Finding missing = finding(program({{"libibverbs.so.1", ""}}), "libibverbs");
  EXPECT_EQ(missing.verdict, Verdict::kProblem);
  EXPECT_EQ(finding(program({{"libc.so.6", "/lib/libc.so.6"}}), "libibverbs").verdict, Verdict::kNote);
}

TEST(ProgramJudgement, NamesAProgramThatCannotBeServedAndSaysNoMoreOfIt) {
  ProgramFacts facts = program({});
  facts.obstacle = Obstacle::kStatic;
  ASSERT_EQ(judge(facts).size(), 2u) << "and of its files";
  EXPECT_EQ(finding(facts, "program").verdict, Verdict::kProblem);
  EXPECT_THAT(finding(facts, "program").remedy, HasSubstr("prog is statically linked"));
  facts.interpreter = "/usr/bin/node";
  EXPECT_THAT(finding(facts, "program").remedy, HasSubstr("/usr/bin/node is statically linked"));
  ProgramFacts missing = program({});
  missing.file.clear();
  EXPECT_THAT(finding(missing, "program").found, HasSubstr("there is no such program"));
  ProgramFacts broken = program({});
  broken.error = "prog: error while loading shared libraries";
  EXPECT_EQ(finding(broken, "program").verdict, Verdict::kProblem);
}

TEST(ProgramJudgement, SaysHowTheProgramSeesTheDevicesFiles) {
  ProgramFacts facts = program({{"libc.so.6", "/lib/libc.so.6"}});
  EXPECT_THAT(finding(facts, "device files").found, HasSubstr("preload"));
  facts.calls_kernel_itself = true;
  facts.is_go = true;
  facts.mounts.way = NamespaceWay::kUser;
  EXPECT_THAT(finding(facts, "device files").found,
              HasSubstr("in a user namespace of its own, as programs in Go"));
  facts.obstacle = Obstacle::kStatic;
  EXPECT_EQ(finding(facts, "program").verdict, Verdict::kNote) << "it may only want to read files";
  facts.mounts = {.way = NamespaceWay::kForbidden, .reason = "a reason"};
  EXPECT_EQ(finding(facts, "device files").verdict, Verdict::kNote);
  EXPECT_THAT(finding(facts, "device files").remedy, HasSubstr("a reason"));
  EXPECT_EQ(finding(facts, "program").verdict, Verdict::kProblem);
}

TEST(ProgramJudgement, SaysWhyAFrameworkFallsBackToTcp) {
  ProgramFacts facts = program({{"libucs.so.0", "/usr/lib/libucs.so.0"}});
  facts.frameworks = {framework(kUcx, "", {})};
  EXPECT_EQ(finding(facts, "UCX").verdict, Verdict::kProblem);
  EXPECT_THAT(finding(facts, "UCX").found,
              HasSubstr("built without verbs: no libuct_ib in /usr/lib/plugins"));
  facts.frameworks = {
      framework(kUcx, "/usr/lib/ucx/libuct_ib.so", {{"libibverbs.so.1", "/usr/lib/libibverbs.so.1"}})};
  EXPECT_EQ(finding(facts, "UCX").verdict, Verdict::kProblem);
  facts.frameworks = {framework(kUcx, "/usr/lib/ucx/libuct_ib.so", {})};
  facts.frameworks[0].error = "libmlx5.so.1: cannot open shared object file";
  EXPECT_THAT(finding(facts, "UCX").found, HasSubstr("libmlx5.so.1"));
}

TEST(ProgramJudgement, SaysWhatMakesAFrameworkTakeTheDevice) {
  ProgramFacts facts = program({{"libopen-pal.so.40", "/usr/lib/libopen-pal.so.40"}});
  facts.frameworks = {
      framework(kOpenMpi, "/usr/lib/openmpi/mca_pml_ucx.so", {{"libucs.so.0", "/usr/lib/libucs.so.0"}}),
      framework(kUcx, "/usr/lib/ucx/libuct_ib.so", {{"libibverbs.so.1", kDropin}})};
  EXPECT_EQ(finding(facts, "libibverbs").verdict, Verdict::kGood) << "a part loads it later";
  EXPECT_THAT(finding(facts, "UCX").found,
              AllOf(HasSubstr("gets urnic's"), HasSubstr("UCX_NET_DEVICES=urnic0:1")));
  EXPECT_THAT(finding(facts, "Open MPI").found, AllOf(HasSubstr("uses UCX"), HasSubstr("--mca pml ucx")));
  facts.frameworks = {framework(kNccl, "/usr/lib/libnccl.so.2", {})};
  EXPECT_THAT(finding(facts, "NCCL").found, HasSubstr("NCCL_IB_HCA=urnic0"));
}

}  // namespace
}  // namespace urnic::tools
