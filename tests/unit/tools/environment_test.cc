#include "verbs_api/environment.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "nic/fabric_folder.h"
#include "nic/lock_file.h"
#include "tests/unit/tools/temporary_environment.h"
#include "verbs_api/environment_values.h"

namespace urnic::verbs_api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = nic::PortSpec::Kind;
using Side = nic::PortSpec::VhostSide;

class EnvironmentTest : public tools::TemporaryEnvironment {
 protected:
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  static std::string refusal() {
    const auto environment = read_environment();
    return environment ? "accepted" : environment.error().message;
  }
};

TEST_F(EnvironmentTest, IsOnTheUsersFabricWhenNothingIsSaid) {
  const auto first = read_environment();
  const auto second = read_environment();
  ASSERT_TRUE(first && second);
  const nic::DeviceConfig& device = first.value().device;
  EXPECT_EQ(device.port.to_string(), "fabric:default,0");
  EXPECT_EQ(to_string(device.ipv4->address), "10.77.0.1");
  EXPECT_EQ(to_string(device.mac), "02:00:0a:4d:00:01");
  EXPECT_EQ(device.link_mtu, 4200);
  EXPECT_EQ(device.progress, nic::ProgressMode::kHybrid);
  EXPECT_FALSE(first.value().verbose);
  EXPECT_EQ(second.value().device.port.slot, 1u);
  EXPECT_EQ(to_string(second.value().device.ipv4->address), "10.77.0.2");
  EXPECT_EQ(to_string(second.value().device.mac), "02:00:0a:4d:00:02");
  EXPECT_NE(device.seed, second.value().device.seed);
}

TEST_F(EnvironmentTest, IsAnEndOfTheUsersPairWhenToldSo) {
  set("URNIC_PORT", "pair");
  const auto first = read_environment();
  const auto second = read_environment();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().device.port.to_string(), "vhost:" + folder() + "/urnic/pair.sock,front");
  EXPECT_EQ(second.value().device.port.side, Side::kBack);
}

TEST_F(EnvironmentTest, TakesTheMtuOfTheFabricsSwitchWhenOneRuns) {
  const auto fabric = nic::FabricFolder::open("slow");
  ASSERT_TRUE(fabric);
  const auto lock =
      nic::LockFile::open(fabric.value().files_of_switch(0).lock, nic::LockFile::Missing::kCreate);
  ASSERT_TRUE(lock && lock.value().try_lock());
  const std::string text = "process 17 mtu 1500\n";
  ASSERT_EQ(write(lock.value().fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  set("URNIC_PORT", "fabric:slow");
  const auto environment = read_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().device.link_mtu, 1500);
  set("URNIC_MTU", "4200");
  EXPECT_THAT(refusal(), HasSubstr("fabric slow carries no more than 1500"));
}

TEST_F(EnvironmentTest, DoesWhatItIsTold) {
  set("URNIC_IP", "192.168.7.9/20");
  set("URNIC_IP6", "fd00:1::5/48");
  set("URNIC_MAC", "02:aa:00:00:00:01");
  set("URNIC_MTU", "1500");
  set("URNIC_PORT", "loopback");
  set("URNIC_PCAP", "frames.pcap");
  set("URNIC_FAULT", "drop=1%");
  set("URNIC_SEED", "0x2a");
  set("URNIC_PROGRESS", "thread");
  set("URNIC_MW_TYPE_2", "2A");
  set("URNIC_VERBOSE", "1");
  set("URNIC_EXPLAIN", "1");
  const auto environment = read_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  const nic::DeviceConfig& device = environment.value().device;
  EXPECT_TRUE(device.explain);
  EXPECT_EQ(to_string(device.ipv4->address), "192.168.7.9");
  EXPECT_EQ(device.ipv4->prefix_length, 20);
  EXPECT_EQ(to_string(device.ipv6->address), "fd00:1::5");
  EXPECT_EQ(device.ipv6->prefix_length, 48);
  EXPECT_EQ(to_string(device.mac), "02:aa:00:00:00:01");
  EXPECT_EQ(device.link_mtu, 1500);
  EXPECT_EQ(device.port.kind, Kind::kLoopback);
  EXPECT_EQ(environment.value().pcap_file, "frames.pcap");
  EXPECT_EQ(environment.value().fault, "drop=1%");
  EXPECT_EQ(device.seed, 42u);
  EXPECT_EQ(device.progress, nic::ProgressMode::kThread);
  EXPECT_EQ(device.type_2_windows, nic::Type2Windows::k2A);
  EXPECT_TRUE(environment.value().verbose);
}

TEST_F(EnvironmentTest, ChoosesTheFreeSideOfASocketThatNamesNone) {
  set("URNIC_PORT", "vhost:" + folder() + "/mine.sock");
  const auto first = read_environment();
  const auto second = read_environment();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().device.port.side, Side::kFront);
  EXPECT_EQ(second.value().device.port.side, Side::kBack);
}

TEST_F(EnvironmentTest, MakesARelativeSocketPathAbsolute) {
  ASSERT_EQ(chdir(folder().c_str()), 0);
  set("URNIC_PORT", "vhost:mine.sock,back");
  const auto environment = read_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().device.port.target, folder() + "/mine.sock");
  ASSERT_EQ(chdir("/"), 0);
}

TEST_F(EnvironmentTest, RefusesADefaultSocketPathThatFitsNoSocketAddress) {
  const std::string deep = folder() + "/" + std::string(100, 'x');
  ASSERT_EQ(mkdir(deep.c_str(), 0700), 0);
  set("XDG_RUNTIME_DIR", deep);
  set("URNIC_PORT", "pair");
  EXPECT_THAT(refusal(), HasSubstr("107"));
}

TEST_F(EnvironmentTest, UsesTheLeaseThatItInherits) {
  const auto launcher = read_environment();
  ASSERT_TRUE(launcher);
  set("URNIC_LEASE_FD", std::to_string(launcher.value().lease.descriptor()));
  set("URNIC_PORT", launcher.value().device.port.to_string());
  set("URNIC_IP", "10.77.0.1/24");
  const auto program = read_environment();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program.value().lease.descriptor(), launcher.value().lease.descriptor());
  EXPECT_EQ(program.value().device.port.slot, 0u);
}

TEST_F(EnvironmentTest, GoesOnWithoutALeaseThatWasClosedWhenAllIsSpeltOut) {
  const auto launcher = read_environment();
  ASSERT_TRUE(launcher);
  set("URNIC_LEASE_FD", "999");
  set("URNIC_PORT", launcher.value().device.port.to_string());
  set("URNIC_IP", "10.77.0.1/24");
  const auto program = read_environment();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(program.value().lease.is_held());
  EXPECT_EQ(program.value().device.port.to_string(), launcher.value().device.port.to_string());
}

TEST_F(EnvironmentTest, TakesTheMtuOfItsInterfaceButNoMoreThanItNeeds) {
  set("URNIC_PORT", "af_packet:lo");
  set("URNIC_IP", "10.9.9.9/24");
  const auto environment = read_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().device.link_mtu, 4200);
}

TEST_F(EnvironmentTest, RefusesAnInterfaceThatIsNotThere) {
  set("URNIC_PORT", "af_packet:nosuch0");
  set("URNIC_IP", "10.9.9.9/24");
  EXPECT_THAT(refusal(), HasSubstr("nosuch0"));
}

TEST_F(EnvironmentTest, WantsAnAddressForAnInterface) {
  set("URNIC_PORT", "af_packet:lo");
  EXPECT_THAT(refusal(), HasSubstr("--ip"));
}

struct Hostile {
  const char* name;
  const char* value;
};

class HostileEnvironment : public EnvironmentTest, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileEnvironment, IsRefusedInOneLineThatNamesTheVariable) {
  set(GetParam().name, GetParam().value);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(GetParam().name), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Values, HostileEnvironment,
    ::testing::Values(
        Hostile{"URNIC_IP", "ten"}, Hostile{"URNIC_IP", "10.0.0.256/24"}, Hostile{"URNIC_IP", "10.0.0.1/33"},
        Hostile{"URNIC_IP", "10.0.0.1/0"}, Hostile{"URNIC_IP", "10.0.0.1/"},
        Hostile{"URNIC_IP", "10.0.0.1/24 "}, Hostile{"URNIC_IP", "0.0.0.0/8"},
        Hostile{"URNIC_IP", "127.0.0.1/8"}, Hostile{"URNIC_IP", "239.1.1.1/24"},
        Hostile{"URNIC_IP", "255.255.255.255"}, Hostile{"URNIC_IP", "10.0.0.0/24"},
        Hostile{"URNIC_IP", "10.0.0.255/24"}, Hostile{"URNIC_IP6", "fd00::1/129"},
        Hostile{"URNIC_IP6", "10.0.0.1"}, Hostile{"URNIC_IP6", "fe80::1/64"}, Hostile{"URNIC_IP6", "ff02::1"},
        Hostile{"URNIC_IP6", "::1"}, Hostile{"URNIC_IP6", "::/64"}, Hostile{"URNIC_IP6", "::ffff:10.0.0.1"},
        Hostile{"URNIC_MAC", "02:00"}, Hostile{"URNIC_MAC", "03:00:00:00:00:01"},
        Hostile{"URNIC_MAC", "00:00:00:00:00:00"}, Hostile{"URNIC_MTU", "0"}, Hostile{"URNIC_MTU", "-1"},
        Hostile{"URNIC_MTU", "335"}, Hostile{"URNIC_MTU", "65537"}, Hostile{"URNIC_MTU", "4200bytes"},
        Hostile{"URNIC_PORT", "pigeon:loft"}, Hostile{"URNIC_PORT", "vhost:"},
        Hostile{"URNIC_PORT", "vhost:/tmp/x,middle"}, Hostile{"URNIC_SEED", "1.5"},
        Hostile{"URNIC_SEED", "99999999999999999999"}, Hostile{"URNIC_VERBOSE", "yes"},
        Hostile{"URNIC_EXPLAIN", "why"}, Hostile{"URNIC_PROGRESS", "warp"}, Hostile{"URNIC_MW_TYPE_2", "2C"},
        Hostile{"URNIC_LEASE_FD", "three"}, Hostile{"URNIC_LEASE_FD", "-3"}),
    [](const ::testing::TestParamInfo<Hostile>& hostile) {
      return std::string(hostile.param.name) + "_" + std::to_string(hostile.index);
    });

TEST(EnvironmentValues, TakePrefixesOfEveryLength) {
  EXPECT_EQ(parse_ipv4_interface("10.0.0.1").value().prefix_length, 24);
  EXPECT_EQ(parse_ipv4_interface("10.0.0.1/1").value().prefix_length, 1);
  EXPECT_TRUE(parse_ipv4_interface("10.0.0.0/31")) << "both addresses of a /31 are hosts";
  EXPECT_TRUE(parse_ipv4_interface("10.0.0.0/32"));
  EXPECT_EQ(parse_ipv6_interface("fd00::1").value().prefix_length, 64);
  EXPECT_EQ(parse_ipv6_interface("fd00::1/128").value().prefix_length, 128);
}

}  // namespace
}  // namespace urnic::verbs_api
