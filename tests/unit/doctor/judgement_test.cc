// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/judgement.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>

namespace urnic::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A host with which nothing is wrong.
HostFacts healthy() {
  HostFacts facts;
  facts.dropin = "/opt/urnic/lib/urnic/libibverbs.so.1";
  facts.runtime_folder = "/run/user/1000/urnic";
  facts.system_calls = {{.name = "eventfd2", .loss = "x", .is_needed = true, .error = 0}};
  facts.mounts.way = NamespaceWay::kPlain;
  facts.available_memory = std::uint64_t{8} << 30;
  facts.shm_bytes = std::uint64_t{4} << 30;
  facts.cores = 8;
  facts.clock_source = "tsc";
  facts.cpu_flags = {"avx512f", "vpclmulqdq"};
  facts.may_use_raw_sockets = true;
  facts.host_gids = {{.index = 1, .address = "192.0.2.7", .interface = "eth0"}};
  facts.interfaces = {{.name = "eth0", .addresses = {"192.0.2.7", "fe80::1"}, .mtu = 1500}};
  return facts;
}

Finding finding(const HostFacts& facts, const std::string& check) {
  for (const Finding& it : judge(facts)) {
    if (it.check == check) return it;
  }
  ADD_FAILURE() << "no finding about " << check;
  return {};
}

TEST(Judgement, FindsNothingWrongWithAHealthyHost) {
  for (const Finding& it : judge(healthy())) {
    EXPECT_EQ(it.verdict, Verdict::kGood) << it.check << ": " << it.found;
    EXPECT_EQ(it.remedy, "") << it.check;
    EXPECT_NE(it.found, "") << it.check;
  }
}

TEST(Judgement, HasOneFindingOfEachCheckAndBeginsWithTheDropIn) {
  const auto findings = judge(healthy());
  std::set<std::string> checks;
  for (const Finding& it : findings) EXPECT_TRUE(checks.insert(it.check).second) << it.check;
  EXPECT_EQ(findings.front().check, "drop-in");
  EXPECT_EQ(findings.back().check, "interface eth0");
}

TEST(Judgement, SaysWhatToDoAboutEverythingThatIsNotGood) {
  HostFacts worst;
  worst.dropin_error = "there is none";
  worst.runtime_folder_error = "it belongs to another user";
  worst.system_calls = {{.name = "eventfd2", .loss = "x", .is_needed = true, .error = EPERM}};
  worst.available_memory = 1;
  worst.cores = 1;
  worst.clock_source = "hpet";
  worst.cpu_flags = {"fpu"};
  worst.rdma_devices = {{.name = "mlx5_0", .driver = "mlx5_core"}};
  worst.roce_port_holders = {{.is_kernel = true, .uid = 0}};
  int not_good = 0;
  for (const Finding& it : judge(worst)) {
    if (it.verdict == Verdict::kGood) continue;
    ++not_good;
    EXPECT_NE(it.remedy, "") << it.check;
  }
  EXPECT_EQ(not_good, 14);
}

TEST(Judgement, NamesThePackageOfALibraryThatIsMissing) {
  HostFacts facts = healthy();
  facts.dropin_error = "libnuma.so.1: cannot open shared object file: No such file or directory";
  EXPECT_EQ(finding(facts, "drop-in").verdict, Verdict::kProblem);
  EXPECT_THAT(finding(facts, "drop-in").remedy, HasSubstr("libnuma1"));
}

TEST(Judgement, SaysWhichProgramsDoNotSeeTheDevicesFiles) {
  HostFacts facts = healthy();
  facts.mounts = {.way = NamespaceWay::kUser, .reason = {}};
  EXPECT_EQ(finding(facts, "device files").verdict, Verdict::kGood);
  EXPECT_THAT(finding(facts, "device files").found, HasSubstr("in a user namespace"));
  facts.mounts = {.way = NamespaceWay::kForbidden, .reason = "a reason"};
  EXPECT_EQ(finding(facts, "device files").verdict, Verdict::kNote);
  EXPECT_THAT(finding(facts, "device files").found, HasSubstr("not possible: a reason"));
}

TEST(Judgement, TellsSystemCallsThatAreNeededFromOthers) {
  HostFacts facts = healthy();
  facts.system_calls = {
      {.name = "pidfd_open", .loss = "links live longer", .is_needed = false, .error = EPERM}};
  EXPECT_EQ(finding(facts, "system calls").verdict, Verdict::kNote);
  EXPECT_THAT(finding(facts, "system calls").found,
              AllOf(HasSubstr("pidfd_open"), HasSubstr("not permitted")));
  EXPECT_THAT(finding(facts, "system calls").remedy, HasSubstr("without it links live longer"));
  facts.system_calls.front().is_needed = true;
  EXPECT_EQ(finding(facts, "system calls").verdict, Verdict::kProblem);
}

TEST(Judgement, WantsMemoryForTwoPrograms) {
  HostFacts facts = healthy();
  facts.available_memory = 60u << 20;
  EXPECT_EQ(finding(facts, "memory").verdict, Verdict::kProblem);
  EXPECT_EQ(finding(facts, "memory").found, "60 MiB available");
  facts.available_memory = 64u << 20;
  EXPECT_EQ(finding(facts, "memory").verdict, Verdict::kGood);
}

TEST(Judgement, KnowsThatAQuotaTakesCoresAway) {
  HostFacts facts = healthy();
  facts.core_quota = 1.5;
  EXPECT_EQ(finding(facts, "cores").verdict, Verdict::kNote);
  EXPECT_EQ(finding(facts, "cores").found, "1.5 of 8 cores, by the quota of the control group");
  facts.core_quota = 2;
  EXPECT_EQ(finding(facts, "cores").verdict, Verdict::kGood);
}

TEST(Judgement, NeverMindsALimitOfLockedMemory) {
  HostFacts facts = healthy();
  facts.locked_memory = 65536;
  EXPECT_EQ(finding(facts, "locked memory").verdict, Verdict::kGood);
  EXPECT_THAT(finding(facts, "locked memory").found, HasSubstr("64 KiB"));
}

TEST(Judgement, KnowsHowTheIcrcIsWorkedOut) {
  HostFacts facts = healthy();
  facts.cpu_flags = {"pclmulqdq"};
  EXPECT_EQ(finding(facts, "processor").verdict, Verdict::kGood);
  facts.cpu_flags = {"pmull"};
  EXPECT_EQ(finding(facts, "processor").verdict, Verdict::kGood);
  facts.cpu_flags = {"fpu"};
  EXPECT_EQ(finding(facts, "processor").verdict, Verdict::kNote);
}

TEST(Judgement, TellsAConnectXFromOtherDevices) {
  HostFacts facts = healthy();
  facts.rdma_devices = {{.name = "mlx5_0", .driver = "mlx5_core"}};
  EXPECT_THAT(finding(facts, "other RDMA devices").remedy, HasSubstr("takes all frames to UDP port 4791"));
  facts.rdma_devices = {{.name = "rxe0", .driver = ""}};
  EXPECT_EQ(finding(facts, "other RDMA devices").found, "rxe0 (software)");
  EXPECT_THAT(finding(facts, "other RDMA devices").remedy, Not(HasSubstr("4791")));
}

TEST(Judgement, SaysWhoHasTheRocePort) {
  HostFacts facts = healthy();
  facts.roce_port_holders = {{.is_kernel = false, .uid = 1000}};
  EXPECT_EQ(finding(facts, "UDP port 4791").found, "a process of user 1000 has it, which only root sees");
  facts.roce_port_holders[0].processes = {{77, "hold"}};
  EXPECT_EQ(finding(facts, "UDP port 4791").found, "user 1000 has it: process 77 (hold)");
  facts.roce_port_holders.push_back({.is_kernel = true, .uid = 0});
  EXPECT_THAT(finding(facts, "UDP port 4791").found, HasSubstr("kernel"));
  EXPECT_THAT(finding(facts, "UDP port 4791").remedy, HasSubstr("rmmod rdma_rxe"));
}

TEST(Judgement, SaysThatOwnProgramsMayShareTheRocePort) {
  HostFacts facts = healthy();
  facts.uid = 1000;
  facts.roce_port_holders = {{.is_kernel = false, .uid = 1000}};
  EXPECT_THAT(finding(facts, "UDP port 4791").found, HasSubstr("does not show here"));
  facts.roce_port_holders[0].processes = {{77, "hold"}};
  EXPECT_EQ(finding(facts, "UDP port 4791").found, "process 77 (hold) of yours has it alone");
  facts.roce_port_holders[0].processes.push_back({78, "urnic_switch"});
  EXPECT_EQ(finding(facts, "UDP port 4791").verdict, Verdict::kGood);
  EXPECT_THAT(finding(facts, "UDP port 4791").found, HasSubstr("they share it"));
}

TEST(Judgement, SaysThatProgramsMeetWithoutTheRocePortOfAnotherUser) {
  HostFacts facts = healthy();
  facts.uid = 1001;
  facts.roce_port_holders = {{.is_kernel = false, .uid = 1000}};
  EXPECT_THAT(finding(facts, "UDP port 4791").remedy, HasSubstr("still talk to each other on this host"));
}

TEST(Judgement, NamesTheGidIndexThatThisHostHas) {
  HostFacts facts = healthy();
  facts.host_gids = {{.index = 0, .address = "fe80::1", .interface = "eth0"},
                     {.index = 1, .address = "10.0.0.1", .interface = "eth0"}};
  EXPECT_THAT(finding(facts, "GID index").found, HasSubstr("1 of urnic0 is its IPv4 address"));
  facts.host_gids[1] = {.index = 2, .address = "fd88::1", .interface = "eth0"};
  EXPECT_THAT(finding(facts, "GID index").found, HasSubstr("2 of urnic0 is this host's IPv6 address"));
  facts.host_gids.clear();
  EXPECT_THAT(finding(facts, "GID index").found, HasSubstr("1 of urnic0")) << "a fabric's";
}

TEST(Judgement, SaysWhichFirewallMayBeInTheWay) {
  HostFacts facts = healthy();
  EXPECT_EQ(finding(facts, "firewall").verdict, Verdict::kGood);
  facts.firewall = "ufw";
  EXPECT_EQ(finding(facts, "firewall").verdict, Verdict::kNote);
  EXPECT_THAT(finding(facts, "firewall").remedy, HasSubstr("ufw allow 4791/udp"));
}

TEST(Judgement, ListsTheGidsOfTheHost) {
  HostFacts facts = healthy();
  facts.host_gids = {{.index = 0, .address = "fe80::1", .interface = "eth0"},
                     {.index = 1, .address = "10.0.0.1", .interface = "eth0"},
                     {.index = 3, .address = "127.0.0.1", .interface = "lo"}};
  EXPECT_EQ(finding(facts, "GIDs of --port host").found,
            "0 fe80::1 (eth0), 1 10.0.0.1 (eth0), 3 127.0.0.1 (lo)");
  facts.host_gids.clear();
  EXPECT_EQ(finding(facts, "GIDs of --port host").verdict, Verdict::kNote);
}

// Fact 41: 80 bytes of headers around the payload.
TEST(Judgement, SaysWhichPathMtuAnInterfaceCarries) {
  struct {
    std::uint16_t interface;
    const char* path;
  } const mtus[] = {{9000, "up to 4096"}, {4200, "up to 4096"}, {4170, "up to 2048"},
                    {1500, "up to 1024"}, {1280, "up to 1024"}, {576, "up to 256"}};
  for (const auto& mtu : mtus) {
    HostFacts facts = healthy();
    facts.interfaces.front().mtu = mtu.interface;
    EXPECT_THAT(finding(facts, "interface eth0").found, HasSubstr(mtu.path)) << mtu.interface;
  }
}

/// A peer that is reached.
PathFacts near_peer() {
  return {.peer = "there",
          .address = "192.0.2.9",
          .error = "",
          .is_answered = true,
          .bytes_there = 1500,
          .bytes_back = 1500,
          .round_trip_us = 123.4};
}

TEST(Judgement, SaysWhatTheWayToAPeerCarries) {
  const Finding it = judge(near_peer());
  EXPECT_EQ(it.verdict, Verdict::kGood);
  EXPECT_EQ(it.check, "way to there");
  EXPECT_EQ(it.found,
            "192.0.2.9, 123 us: packets of up to 1500 bytes there and 1500 back: path MTU up to 1024");
}

TEST(Judgement, NamesATranslatorOfAddresses) {
  PathFacts path = near_peer();
  path.sent_from = "172.17.0.2 port 40001";
  path.seen_as = "192.0.2.1 port 1024";
  EXPECT_EQ(judge(path).verdict, Verdict::kProblem);
  EXPECT_EQ(judge(path).found,
            "192.0.2.9 sees 172.17.0.2 port 40001 as 192.0.2.1 port 1024: something between translates "
            "addresses (NAT)");
  EXPECT_THAT(judge(path).remedy, HasSubstr("ICRC"));
}

TEST(Judgement, NotesAWayThatCarriesLessBack) {
  PathFacts path = near_peer();
  path.bytes_there = 9000;
  EXPECT_EQ(judge(path).verdict, Verdict::kNote);
  EXPECT_THAT(judge(path).remedy, HasSubstr("--mtu 1500"));
}

TEST(Judgement, NotesAWayThatCarriesSmallPacketsOnly) {
  PathFacts path = near_peer();
  path.bytes_there = path.bytes_back = 600;
  EXPECT_EQ(judge(path).verdict, Verdict::kNote);
  EXPECT_THAT(judge(path).remedy, HasSubstr("raise the MTU of the network"));
}

TEST(Judgement, TellsSilenceFromARefusalAndFromANameThatLeadsNowhere) {
  PathFacts path{.peer = "there", .address = "192.0.2.9", .error = ""};
  EXPECT_EQ(judge(path).verdict, Verdict::kProblem);
  EXPECT_THAT(judge(path).remedy, HasSubstr("firewall"));
  path.is_refused = true;
  EXPECT_EQ(judge(path).remedy, "run 'urnic doctor --answer' there meanwhile");
  path.error = "there: Name or service not known";
  EXPECT_EQ(judge(path).found, path.error);
}

TEST(Judgement, GoesOnWithoutAnyNetwork) {
  HostFacts facts = healthy();
  facts.interfaces.clear();
  EXPECT_EQ(finding(facts, "interfaces").verdict, Verdict::kNote);
}

}  // namespace
}  // namespace urnic::tools
