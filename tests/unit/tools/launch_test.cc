// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/launch.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/unit/tools/temporary_environment.h"
#include "tools/command/console.h"

namespace urnic::tools {
namespace {

using ::testing::HasSubstr;

class LaunchTest : public TemporaryEnvironment {
 protected:
  LaunchTest() {
    choose_network("default", "10.77.0.0");
    setenv("URNIC_PORT", "fabric", 1);
  }
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "(not set)" : value;
}

TEST_F(LaunchTest, SpellsOutInTheEnvironmentWhatWasLeftOpen) {
  const auto environment = read_first_environment();
  ASSERT_TRUE(environment && export_environments({&environment.value(), 1}));
  EXPECT_EQ(variable("URNIC_IP"), "10.77.0.1/24");
  EXPECT_EQ(variable("URNIC_MAC"), "02:00:0a:4d:00:01");
  EXPECT_EQ(variable("URNIC_PORT"), "fabric:default,0");
  EXPECT_EQ(variable("URNIC_MTU"), "4200");
  EXPECT_EQ(variable("URNIC_LEASE_FD"), std::to_string(environment.value().lease.descriptor()));
}

TEST_F(LaunchTest, HandsOnNoSeedThatTheUserDidNotGive) {
  const auto environment = read_first_environment();
  ASSERT_TRUE(environment && export_environments({&environment.value(), 1}));
  EXPECT_EQ(variable("URNIC_SEED"), "(not set)");
}

TEST_F(LaunchTest, MakesTheSameNicAgainFromWhatItExported) {
  setenv("URNIC_IP6", "fd00::7/48", 1);
  setenv("URNIC_VLAN", "7", 1);
  const auto launcher = read_first_environment();
  ASSERT_TRUE(launcher && export_environments({&launcher.value(), 1}));
  const auto program = read_first_environment();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(describe(program.value().device), describe(launcher.value().device));
}

TEST_F(LaunchTest, ForgetsTheNicOfAnOuterRun) {
  setenv(verbs_api::kRunVariable, "1", 1);
  setenv("URNIC_IP", "10.77.0.1/24", 1);
  setenv("URNIC_LEASE_FD", "3", 1);
  forget_outer_nic();
  EXPECT_EQ(variable("URNIC_IP"), "(not set)");
  EXPECT_EQ(variable("URNIC_LEASE_FD"), "(not set)");
}

TEST_F(LaunchTest, KeepsWhatTheUserSetByHand) {
  setenv("URNIC_IP", "10.77.0.1/24", 1);
  forget_outer_nic();
  EXPECT_EQ(variable("URNIC_IP"), "10.77.0.1/24");
}

TEST_F(LaunchTest, RefusesARecordingThatCannotBeWritten) {
  auto environment = read_first_environment();
  ASSERT_TRUE(environment);
  environment.value().pcap_file = folder() + "/nothing/frames.pcap";
  const auto checked = check_port(environment.value());
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("frames.pcap"));
}

TEST_F(LaunchTest, RefusesAnAddressOfTheHostOnAnInterface) {
  verbs_api::NicEnvironment environment;
  environment.port = {.kind = nic::PortSpec::Kind::kAfPacket, .side = {}, .target = "lo"};
  environment.device.ipv4 = nic::Ipv4Interface{.address = *transport::wire::Ipv4Address::parse("127.0.0.1")};
  const auto checked = check_port(environment);
  ASSERT_FALSE(checked);
  // Without the privilege to ask further, that is what it says instead.
  EXPECT_THAT(checked.error().message, ::testing::AnyOf(HasSubstr("127.0.0.1"), HasSubstr("CAP_NET_RAW")));
}

TEST(Execute, AnswersLikeAShellWhenThereIsNoSuchProgram) {
  EXPECT_EQ(execute({"/no/such/program"}), kExitNotFound);
  EXPECT_EQ(execute({"/tmp"}), kExitNotExecutable);
}

TEST_F(LaunchTest, SaysThatAProgramIsMissingThoughAFolderOfThePathIsLocked) {
  const std::string locked = folder() + "/locked";
  ASSERT_EQ(mkdir(locked.c_str(), 0000), 0);
  const std::string path = variable("PATH");
  setenv("PATH", locked.c_str(), 1);
  EXPECT_EQ(execute({"no-such-program"}), kExitNotFound);
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace urnic::tools
