// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/environment.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "nic/host/fabric_folder.h"
#include "nic/host/lock_file.h"
#include "tests/unit/tools/temporary_environment.h"
#include "tools/command/launch.h"
#include "transport/qp_config.h"
#include "verbs_api/config/environment_values.h"

namespace urnic::verbs_api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Kind = nic::PortSpec::Kind;
using Side = nic::PortSpec::VhostSide;

struct Variable {
  const char* name;
  const char* value;
};

class EnvironmentTest : public tools::TemporaryEnvironment {
 protected:
  EnvironmentTest() {
    choose_network("default", "10.77.0.0");
    set("URNIC_PORT", "fabric");
  }
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  static std::string refusal() {
    const auto environment = tools::read_first_environment();
    return environment ? "accepted" : environment.error().message;
  }
};

TEST_F(EnvironmentTest, IsTheHostsWhenNothingIsSaid) {
  unsetenv("URNIC_PORT");
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().port.kind, Kind::kHost);
  EXPECT_EQ(environment.value().device.medium, nic::Medium::kIp);
}

class OwnIdentity : public EnvironmentTest, public ::testing::WithParamInterface<Variable> {};

TEST_P(OwnIdentity, IsOneOnTheUsersFabric) {
  unsetenv("URNIC_PORT");
  set(GetParam().name, GetParam().value);
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().port.to_string(), "fabric:default,0");
}

INSTANTIATE_TEST_SUITE_P(Values, OwnIdentity,
                         ::testing::Values(Variable{"URNIC_IP", "10.1.2.3/24"},
                                           Variable{"URNIC_IP6", "fd00::1/64"},
                                           Variable{"URNIC_MAC", "02:aa:00:00:00:01"},
                                           Variable{"URNIC_VLAN", "7"}));

TEST_F(EnvironmentTest, IsOnTheUsersFabric) {
  const auto first = tools::read_first_environment();
  const auto second = tools::read_first_environment();
  ASSERT_TRUE(first && second);
  const nic::DeviceConfig& device = first.value().device;
  EXPECT_EQ(first.value().port.to_string(), "fabric:default,0");
  EXPECT_EQ(to_string(device.ipv4->address), "10.77.0.1");
  EXPECT_EQ(to_string(device.mac), "02:00:0a:4d:00:01");
  EXPECT_EQ(device.link_mtu, 4200);
  EXPECT_EQ(device.progress, nic::ProgressMode::kHybrid);
  EXPECT_EQ(device.recovery, transport::Recovery::kGoBackN);
  EXPECT_FALSE(first.value().verbose);
  EXPECT_EQ(second.value().port.slot, 1u);
  EXPECT_EQ(to_string(second.value().device.ipv4->address), "10.77.0.2");
  EXPECT_EQ(to_string(second.value().device.mac), "02:00:0a:4d:00:02");
  EXPECT_NE(device.seed, second.value().device.seed);
}

TEST_F(EnvironmentTest, GivesEachDeviceAPortAndAddressesOfItsOwn) {
  set("URNIC_DEVICES", "3");
  set("URNIC_MTU", "1500");
  set("URNIC_FAULT_1", "loss=0.1");
  set("URNIC_PCAP", "/tmp/a.pcap");
  set("URNIC_PCAP_2", "/tmp/b.pcap");
  const auto all = read_environments();
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all.value().size(), 3u);
  const auto& [first, second, third] = std::tie(all.value()[0], all.value()[1], all.value()[2]);
  EXPECT_EQ(first.device.name + second.device.name + third.device.name, "urnic0urnic1urnic2");
  EXPECT_EQ(second.port.to_string(), "fabric:default,1");
  EXPECT_EQ(to_string(third.device.ipv4->address), "10.77.0.3");
  EXPECT_EQ(second.device.link_mtu, 1500);
  EXPECT_EQ(first.faults.frames + second.faults.frames + third.faults.frames, "loss=0.1");
  EXPECT_EQ(first.pcap_file, "/tmp/a.pcap");
  EXPECT_EQ(second.pcap_file, "/tmp/a.pcap.urnic1") << "two devices cannot write one file";
  EXPECT_EQ(third.pcap_file, "/tmp/b.pcap");
  EXPECT_EQ(third.device.number, 2u);
  EXPECT_EQ(first.device.devices, 3u);
}

TEST_F(EnvironmentTest, HandsAllDevicesToTheProgram) {
  set("URNIC_DEVICES", "2");
  const auto launcher = read_environments();
  ASSERT_TRUE(launcher && tools::export_environments(launcher.value()));
  const auto program = read_environments();
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program.value().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tools::describe(program.value()[i].device), tools::describe(launcher.value()[i].device));
  }
}

TEST_F(EnvironmentTest, TakesNoAddressOfAnotherDevice) {
  set("URNIC_DEVICES", "2");
  set("URNIC_IP", "10.77.0.50/24");
  {
    const auto shared = read_environments();
    ASSERT_TRUE(shared) << shared.error().message;
    EXPECT_NE(to_string(shared.value()[1].device.ipv4->address), "10.77.0.50");
  }
  set("URNIC_IP_1", "10.77.0.60/24");
  const auto all = read_environments();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(to_string(all.value()[0].device.ipv4->address), "10.77.0.50");
  EXPECT_EQ(to_string(all.value()[1].device.ipv4->address), "10.77.0.60");
  set("URNIC_IP_1", "10.77.0.50/24");
  EXPECT_THAT(refusal(), HasSubstr("10.77.0.50"));
}

TEST_F(EnvironmentTest, NamesTheVariableOfTheDevice) {
  set("URNIC_DEVICES", "2");
  set("URNIC_MTU_1", "12");
  EXPECT_THAT(refusal(), StartsWith("URNIC_MTU_1='12'"));
  unsetenv("URNIC_MTU_1");
  set("URNIC_MTU", "12");
  EXPECT_THAT(refusal(), StartsWith("URNIC_MTU='12'"));
}

TEST_F(EnvironmentTest, HasFaultsOfCallsForTheWholeProcess) {
  set("URNIC_DEVICES", "2");
  set("URNIC_FAULT", "verb:ibv_reg_mr=ENOMEM,loss=0.1");
  const auto launcher = read_environments();
  ASSERT_TRUE(launcher && tools::export_environments(launcher.value()));
  EXPECT_TRUE(read_environments()) << "inside of the run";
  set("URNIC_FAULT_1", "verb:ibv_reg_mr=ENOMEM");
  EXPECT_THAT(refusal(), HasSubstr("give them in URNIC_FAULT"));
}

TEST_F(EnvironmentTest, HasOneDeviceAtAPortThatIsForOne) {
  set("URNIC_DEVICES", "2");
  set("URNIC_PORT", "host");
  EXPECT_THAT(refusal(), HasSubstr("use --port host,each"));
  set("URNIC_DEVICES", "33");
  EXPECT_THAT(refusal(), StartsWith("URNIC_DEVICES='33': not a number from 1 to 32"));
}

TEST_F(EnvironmentTest, IsTheEndOfAWireThatIsFree) {
  set("URNIC_PORT", "vhost:" + folder() + "/wire.sock");
  const auto first = tools::read_first_environment();
  const auto second = tools::read_first_environment();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().port.to_string(), "vhost:" + folder() + "/wire.sock,front");
  EXPECT_EQ(second.value().port.side, Side::kBack);
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
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().device.link_mtu, 1500);
  set("URNIC_MTU", "4200");
  EXPECT_THAT(refusal(), HasSubstr("fabric slow carries no more than 1500"));
}

TEST_F(EnvironmentTest, NeedsRoomForTheTagOfAVlan) {
  set("URNIC_PORT", "loopback");
  set("URNIC_IP", "10.0.0.1/24");
  set("URNIC_VLAN", "5");
  set("URNIC_MTU", "339");
  EXPECT_THAT(refusal(), HasSubstr("URNIC_VLAN"));
  set("URNIC_MTU", "340");
  EXPECT_TRUE(tools::read_first_environment());
}

TEST_F(EnvironmentTest, DoesWhatItIsTold) {
  set("URNIC_IP", "192.168.7.9/20");
  set("URNIC_IP6", "fd00:1::5/48");
  set("URNIC_MAC", "02:aa:00:00:00:01");
  set("URNIC_MTU", "1500");
  set("URNIC_VLAN", "4094");
  set("URNIC_PORT", "loopback");
  set("URNIC_PCAP", "frames.pcap");
  set("URNIC_FAULT", "drop=1%");
  set("URNIC_RECOVERY", "selective-repeat");
  set("URNIC_ICRC", "always");
  set("URNIC_SEED", "0x2a");
  set("URNIC_PROGRESS", "thread");
  set("URNIC_CPUS", "8,0-2,1");
  set("URNIC_MW_TYPE_2", "2A");
  set("URNIC_VERBOSE", "1");
  set("URNIC_EXPLAIN", "1");
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_TRUE(environment.value().has_icrc_always);
  EXPECT_EQ(environment.value().processors, (std::vector<unsigned>{0, 1, 2, 8}));
  const nic::DeviceConfig& device = environment.value().device;
  EXPECT_TRUE(device.explain);
  EXPECT_EQ(to_string(device.ipv4->address), "192.168.7.9");
  EXPECT_EQ(device.ipv4->prefix_length, 20);
  EXPECT_EQ(to_string(device.ipv6->address), "fd00:1::5");
  EXPECT_EQ(device.ipv6->prefix_length, 48);
  EXPECT_EQ(to_string(device.mac), "02:aa:00:00:00:01");
  EXPECT_EQ(device.link_mtu, 1500);
  EXPECT_EQ(device.vlan, 4094);
  EXPECT_EQ(environment.value().port.kind, Kind::kLoopback);
  EXPECT_EQ(environment.value().pcap_file, "frames.pcap");
  EXPECT_EQ(environment.value().faults.frames, "drop=1%");
  EXPECT_EQ(device.recovery, transport::Recovery::kSelectiveRepeat);
  EXPECT_EQ(device.seed, 42u);
  EXPECT_EQ(device.progress, nic::ProgressMode::kThread);
  EXPECT_EQ(device.type_2_windows, nic::Type2Windows::k2A);
  EXPECT_TRUE(environment.value().verbose);
}

TEST_F(EnvironmentTest, ChoosesTheFreeSideOfASocketThatNamesNone) {
  set("URNIC_PORT", "vhost:" + folder() + "/mine.sock");
  const auto first = tools::read_first_environment();
  const auto second = tools::read_first_environment();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().port.side, Side::kFront);
  EXPECT_EQ(second.value().port.side, Side::kBack);
}

TEST_F(EnvironmentTest, MakesARelativeSocketPathAbsolute) {
  ASSERT_EQ(chdir(folder().c_str()), 0);
  set("URNIC_PORT", "vhost:mine.sock,back");
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().port.target, folder() + "/mine.sock");
  ASSERT_EQ(chdir("/"), 0);
}

TEST_F(EnvironmentTest, RefusesAFabricWhoseSocketsFitNoSocketAddress) {
  const std::string deep = folder() + "/" + std::string(80, 'x');
  ASSERT_EQ(mkdir(deep.c_str(), 0700), 0);
  set("XDG_RUNTIME_DIR", deep);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("at most 107"), HasSubstr("XDG_RUNTIME_DIR")));
}

/// Processes that read the environment one after the other and live until the end of the test.
class ProcessesOfOneRun : public EnvironmentTest {
 protected:
  ~ProcessesOfOneRun() override {
    for (const pid_t process : processes_) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  /// Addresses and port of the next one, which has none of our descriptors, or why it has no NIC.
  std::string next(int closed_descriptor) {
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(closed_descriptor);
      const auto environment = tools::read_first_environment();
      const std::string said = environment ? identity(environment.value()) : environment.error().message;
      [[maybe_unused]] const ssize_t written = write(ends[1], said.data(), said.size());
      close(ends[1]);
      pause();
    }
    processes_.push_back(child);
    close(ends[1]);
    std::array<char, 1024> said{};
    const ssize_t bytes = read(ends[0], said.data(), said.size());
    close(ends[0]);
    return std::string(said.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  }
  static std::string identity(const NicEnvironment& environment) {
    const nic::DeviceConfig& device = environment.device;
    return fmt::format("{} {} {} {}", to_string(device.ipv4->address), to_string(device.mac),
                       environment.port.to_string(), environment.pcap_file);
  }

 private:
  std::vector<pid_t> processes_;
};

TEST_F(ProcessesOfOneRun, HaveANicEach) {
  set("URNIC_PCAP", "/tmp/frames.pcap");
  const auto launcher = tools::read_first_environment();
  ASSERT_TRUE(launcher && tools::export_environments({&launcher.value(), 1}));
  const int lease = launcher.value().lease.descriptor();
  EXPECT_EQ(next(lease), identity(launcher.value())) << "the first is the NIC that the run made";
  EXPECT_THAT(next(lease),
              AllOf(StartsWith("10.77.0.2 02:00:0a:4d:00:02 fabric:default,1 "), HasSubstr("frames.pcap.")));
  EXPECT_THAT(next(lease), StartsWith("10.77.0.3 02:00:0a:4d:00:03 fabric:default,2 "));
}

TEST_F(ProcessesOfOneRun, AreTheTwoEndsOfAWire) {
  set("URNIC_PORT", "vhost:" + folder() + "/wire.sock");
  const auto launcher = tools::read_first_environment();
  ASSERT_TRUE(launcher && tools::export_environments({&launcher.value(), 1}));
  const int lease = launcher.value().lease.descriptor();
  EXPECT_THAT(next(lease), HasSubstr("wire.sock,front"));
  EXPECT_THAT(next(lease), HasSubstr("wire.sock,back"));
  EXPECT_THAT(next(lease), AllOf(HasSubstr("same 'urnic run'"), HasSubstr("both ends of the wire")));
}

TEST_F(ProcessesOfOneRun, AreOneAtMostWhereTheAddressWasGiven) {
  set("URNIC_IP", "10.1.2.3/24");
  const auto launcher = tools::read_first_environment();
  ASSERT_TRUE(launcher && tools::export_environments({&launcher.value(), 1}));
  const int lease = launcher.value().lease.descriptor();
  EXPECT_THAT(next(lease), StartsWith("10.1.2.3 "));
  EXPECT_THAT(next(lease), AllOf(HasSubstr("same 'urnic run'"), HasSubstr("10.1.2.3 is taken")));
}

TEST_F(ProcessesOfOneRun, KeepTheAddressThatTheyWereGivenInside) {
  const auto launcher = tools::read_first_environment();
  ASSERT_TRUE(launcher && tools::export_environments({&launcher.value(), 1}));
  set("URNIC_IP", "10.9.9.9/24");
  EXPECT_THAT(next(launcher.value().lease.descriptor()), StartsWith("10.9.9.9 "));
}

TEST_F(EnvironmentTest, TakesTheMtuOfItsInterfaceButNoMoreThanItNeeds) {
  set("URNIC_PORT", "af_packet:lo");
  set("URNIC_IP", "10.9.9.9/24");
  const auto environment = tools::read_first_environment();
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

class HostileEnvironment : public EnvironmentTest, public ::testing::WithParamInterface<Variable> {};

TEST_P(HostileEnvironment, IsRefusedInOneLineThatNamesTheVariable) {
  set(GetParam().name, GetParam().value);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(GetParam().name), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Values, HostileEnvironment,
    ::testing::Values(
        Variable{"URNIC_IP", "ten"}, Variable{"URNIC_IP", "10.0.0.256/24"},
        Variable{"URNIC_IP", "10.0.0.1/33"}, Variable{"URNIC_IP", "10.0.0.1/0"},
        Variable{"URNIC_IP", "10.0.0.1/"}, Variable{"URNIC_IP", "10.0.0.1/24 "},
        Variable{"URNIC_IP", "0.0.0.0/8"}, Variable{"URNIC_IP", "127.0.0.1/8"},
        Variable{"URNIC_IP", "239.1.1.1/24"}, Variable{"URNIC_IP", "255.255.255.255"},
        Variable{"URNIC_IP", "10.0.0.0/24"}, Variable{"URNIC_IP", "10.0.0.255/24"},
        Variable{"URNIC_IP6", "fd00::1/129"}, Variable{"URNIC_IP6", "10.0.0.1"},
        Variable{"URNIC_IP6", "fe80::1/64"}, Variable{"URNIC_IP6", "ff02::1"}, Variable{"URNIC_IP6", "::1"},
        Variable{"URNIC_IP6", "::/64"}, Variable{"URNIC_IP6", "::ffff:10.0.0.1"},
        Variable{"URNIC_MAC", "02:00"}, Variable{"URNIC_FAULT", "verb:ibv_nothing=EIO"},
        Variable{"URNIC_MAC", "03:00:00:00:00:01"}, Variable{"URNIC_MAC", "00:00:00:00:00:00"},
        Variable{"URNIC_MTU", "0"}, Variable{"URNIC_MTU", "-1"}, Variable{"URNIC_MTU", "335"},
        Variable{"URNIC_MTU", "65537"}, Variable{"URNIC_MTU", "4200bytes"}, Variable{"URNIC_VLAN", "0"},
        Variable{"URNIC_VLAN", "4095"}, Variable{"URNIC_VLAN", "ten"}, Variable{"URNIC_PORT", "pigeon:loft"},
        Variable{"URNIC_PORT", "vhost:"}, Variable{"URNIC_PORT", "vhost:/tmp/x,middle"},
        Variable{"URNIC_SEED", "1.5"}, Variable{"URNIC_SEED", "99999999999999999999"},
        Variable{"URNIC_VERBOSE", "yes"}, Variable{"URNIC_EXPLAIN", "why"}, Variable{"URNIC_ICRC", "never"},
        Variable{"URNIC_PROGRESS", "warp"}, Variable{"URNIC_CPUS", "0,"}, Variable{"URNIC_CPUS", "3-1"},
        Variable{"URNIC_CPUS", "70000"}, Variable{"URNIC_CPUS", "all"}, Variable{"URNIC_MW_TYPE_2", "2C"},
        Variable{"URNIC_LIKE", "connectx7"}, Variable{"URNIC_LIKE", "E810"},
        Variable{"URNIC_LIKE", "connectx6,identiy"}, Variable{"URNIC_LIKE", "connectx6,"},
        Variable{"URNIC_LIKE", ",identity"}, Variable{"URNIC_LIKE", "connectx6,identity,identity"},
        Variable{"URNIC_LIKE", "strict,identity"}, Variable{"URNIC_LIKE", "default,identity"},
        Variable{"URNIC_RECOVERY", "selective"}, Variable{"URNIC_RECOVERY", "Go-Back-N"},
        Variable{"URNIC_LEASE_FD", "three"}, Variable{"URNIC_LEASE_FD", "-3"}),
    [](const ::testing::TestParamInfo<Variable>& hostile) {
      return std::string(hostile.param.name) + "_" + std::to_string(hostile.index);
    });

TEST_F(EnvironmentTest, IsUrnicWhomeverItIsLike) {
  set("URNIC_LIKE", "connectx6");
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().like, nic::Column::kConnectX6);
  EXPECT_EQ(environment.value().device.identity, nullptr);
}

TEST_F(EnvironmentTest, HasTheIdentityOfAnotherNicOnRequest) {
  set("URNIC_LIKE", "e810,identity");
  const auto environment = tools::read_first_environment();
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_EQ(environment.value().like, nic::Column::kE810);
  EXPECT_EQ(environment.value().device.personality, &nic::personality_of(nic::Column::kE810));
  EXPECT_EQ(environment.value().device.identity, nic::identity_of(nic::Column::kE810));
}

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
