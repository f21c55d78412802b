// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/path_tree.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "nic/congestion/choice_text.h"
#include "nic/diagnostics/shown_counters.h"
#include "nic/host/lock_file.h"
#include "nic/host/status_socket.h"
#include "tests/unit/tools/temporary_environment.h"
#include "tools/command/device_files.h"
#include "transport/wire/address.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

class PathTree : public TemporaryEnvironment {
 protected:
  std::string paths() const { return folder() + "/paths"; }
  fs::path tree_of(pid_t process, std::uint64_t pid_namespace = nic::ProcessName::own().pid_namespace) const {
    return fs::path(paths()) /
           nic::ProcessName{.process = process, .pid_namespace = pid_namespace}.to_string();
  }
  static nic::DeviceConfig device() {
    nic::DeviceConfig config;
    config.mac = {{0x02, 0, 0x0a, 0x4d, 0, 0x01}};
    config.ipv4 = nic::Ipv4Interface{.address = {{10, 77, 0, 1}}};
    return config;
  }
  static std::string text(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// In a child that has ended when this returns; its descriptors live on with `heir` if there is one.
  pid_t make_in_child(pid_t* heir = nullptr) {
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool made = make_path_tree(paths(), {{.config = device()}}).has_value();
      const pid_t grandchild = heir == nullptr ? 0 : fork();
      if (heir != nullptr && grandchild == 0) {
        pause();
        _exit(0);
      }
      const bool told = write(ends[1], &grandchild, sizeof grandchild) == sizeof grandchild;
      _exit(made && told ? 0 : 1);
    }
    pid_t grandchild = 0;
    EXPECT_EQ(read(ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
    if (heir != nullptr) *heir = grandchild;
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return child;
  }
};

TEST_F(PathTree, ShowsWhatTheKernelWouldShow) {
  const auto made = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path tree = made.value();
  const fs::path port = tree / "sys/class/infiniband/urnic0/ports/1";
  EXPECT_EQ(text(port / "state"), "4: ACTIVE\n");
  EXPECT_EQ(text(port / "gids/0"), "fe80:0000:0000:0000:0000:0aff:fe4d:0001\n");
  EXPECT_EQ(text(port / "gids/1"), "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
  EXPECT_EQ(text(port / "gids/5"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(text(port / "gid_attrs/types/1"), "RoCE v2\n");
  EXPECT_FALSE(fs::exists(port / "gid_attrs/types/5")) << "of an index that is not in use";
  EXPECT_EQ(text(tree / "sys/class/infiniband/urnic0/node_guid"), "0000:0aff:fe4d:0001\n");
  EXPECT_TRUE(fs::is_character_file(tree / "dev/infiniband/urnic0"));
  EXPECT_TRUE(fs::is_character_file(tree / "dev/infiniband/uverbs0"));
}

TEST_F(PathTree, NamesTheTypesOfGidsOfANicThatHasBoth) {
  nic::DeviceConfig connectx = device();
  connectx.personality = &nic::personality_of(nic::Column::kConnectX6);
  const auto made = make_path_tree(paths(), {{.config = connectx}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path port = fs::path(made.value()) / "sys/class/infiniband/urnic0/ports/1";
  for (const char* const index : {"2", "3"}) {
    EXPECT_EQ(text(port / "gids" / index), "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
  }
  EXPECT_EQ(text(port / "gid_attrs/types/2"), "IB/RoCE v1\n");
  EXPECT_EQ(text(port / "gid_attrs/types/3"), "RoCE v2\n");
  EXPECT_TRUE(fs::exists(port / "gids/254"));
  EXPECT_FALSE(fs::exists(port / "gids/255")) << "beyond the table";
}

TEST_F(PathTree, ShowsTheFilesOfTheDriverThatTheDeviceIsLike) {
  nic::DeviceConfig rxe = device();
  rxe.personality = &nic::personality_of(nic::Column::kRxe);
  rxe.host_addresses = {{.gid = {}, .interface = "eth7"}};
  const auto made = make_path_tree(paths(), {{.config = rxe}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path shown = fs::path(made.value()) / "sys/class/infiniband/urnic0";
  EXPECT_EQ(text(shown / "parent"), "eth7\n");
  EXPECT_EQ(text(shown / "ports/1/hw_counters/ack_deferred"), "0\n");
  for (const char* const file : {"board_id", "hca_type", "hw_rev", "ecn", "ports/1/counters"}) {
    EXPECT_FALSE(fs::exists(shown / file)) << file;
  }
  EXPECT_FALSE(fs::exists(fs::path(made.value()) / "sys/kernel/debug/mlx5"));
}

TEST_F(PathTree, SaysToProcessesWhichCountersItShows) {
  nic::DeviceConfig e810 = device();
  e810.personality = &nic::personality_of(nic::Column::kE810);
  const auto made = make_path_tree(paths(), {{.config = e810}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(nic::shown_counter_names(made.value(), "urnic0"), nic::CounterNames::kIrdma);
  EXPECT_EQ(text(fs::path(made.value()) / "sys/class/infiniband/urnic0/ports/1/lid"), "0x1\n");
  const auto plain = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(nic::shown_counter_names(plain.value(), "urnic0"), nic::CounterNames::kOwn);
}

TEST_F(PathTree, ShowsTheDeviceOnABusThatTheHostDoesNotHave) {
  const auto made = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path shown = fs::path(made.value()) / "sys/class/infiniband/urnic0";
  EXPECT_EQ(fs::read_symlink(shown), "../../devices/pci7572:00/7572:00:00.0/infiniband/urnic0");
  EXPECT_EQ(fs::read_symlink(shown / "device"), "../../../7572:00:00.0");
  const fs::path card = fs::canonical(shown / "device");
  EXPECT_EQ(card, fs::path(made.value()) / "sys/devices/pci7572:00/7572:00:00.0");
  EXPECT_EQ(text(card / "vendor"), "0x7572\n");
  EXPECT_EQ(text(card / "device"), "0x0001\n");
  EXPECT_EQ(text(card / "class"), "0x020000\n");
  EXPECT_EQ(text(card / "numa_node"), "-1\n");
  EXPECT_THAT(text(card / "uevent"), testing::HasSubstr("PCI_SLOT_NAME=7572:00:00.0\n"));
  EXPECT_EQ(text(shown / "ports/1/rate"), "40 Gb/sec (4X QDR)\n");
  EXPECT_EQ(text(shown / "ports/1/cap_mask"), "0x04010000\n");
}

TEST(PciPlace, IsInADomainWithoutCards) {
  const fs::path bus = fs::path(testing::TempDir()) / "urnic-bus";
  fs::create_directories(bus / "7572:00:00.0");
  fs::create_directories(bus / "7573:00:02.0");
  fs::create_directories(bus / "0000:00:00.0");
  EXPECT_EQ(PciPlace::choose(1, bus).address(), "7574:00:01.0");
  fs::remove_all(bus);
  EXPECT_EQ(PciPlace::choose(0, bus).address(), "7572:00:00.0") << "no such folder";
}

TEST_F(PathTree, HasCountersOfItsOwnOrSharesThemWithOthers) {
  const auto own = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(own) << own.error().message;
  const char* const counter = "sys/class/infiniband/urnic0/ports/1/counters/port_xmit_packets";
  EXPECT_EQ(text(fs::path(own.value()) / counter), "0\n");
  const fs::path shared = folder() + "/shared";
  fs::create_directories(shared / "counters");
  std::ofstream(shared / "counters/port_xmit_packets") << "17\n";
  const auto first = make_path_tree(paths() + "1", {{.config = device(), .shared_counters = shared}});
  const auto second = make_path_tree(paths() + "2", {{.config = device(), .shared_counters = shared}});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(text(fs::path(first.value()) / counter), "17\n") << "counted before";
  EXPECT_TRUE(fs::equivalent(fs::path(first.value()) / counter, fs::path(second.value()) / counter));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(fs::path(first.value()) / counter)));
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

// The names are from mlx5's driver in OFED, as far as urnic has its parameters.
TEST_F(PathTree, ShowsTheParametersOfCongestionControl) {
  nic::DeviceConfig config = device();
  const auto options = nic::parse_congestion("dcqcn:paper,rpg_ai_rate=77,min_time_between_cnps=13");
  ASSERT_TRUE(options);
  config.congestion = options.value().choice;
  config.congestion_notifications = options.value().notifications;
  const auto made = make_path_tree(paths(), {{.config = config}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path ecn = fs::path(made.value()) / "sys/class/infiniband/urnic0/ecn";
  EXPECT_EQ(
      names_in(ecn / "roce_rp"),
      (std::set<std::string>{"clamp_tgt_rate", "clamp_tgt_rate_after_time_inc", "dce_tcp_g", "dce_tcp_rtt",
                             "initial_alpha_value", "rate_reduce_monitor_period", "rate_to_set_on_first_cnp",
                             "rpg_ai_rate", "rpg_byte_reset", "rpg_gd", "rpg_hai_rate", "rpg_max_rate",
                             "rpg_min_dec_fac", "rpg_min_rate", "rpg_threshold", "rpg_time_reset"}));
  EXPECT_EQ(names_in(ecn / "roce_np"),
            (std::set<std::string>{"cnp_802p_prio", "cnp_dscp", "min_time_between_cnps"}));
  EXPECT_EQ(text(ecn / "roce_rp/rpg_ai_rate"), "77\n");
  EXPECT_EQ(text(ecn / "roce_rp/rpg_time_reset"), "60\n") << "of the paper";
  EXPECT_EQ(text(ecn / "roce_np/min_time_between_cnps"), "13\n");
  EXPECT_EQ(text(ecn / "roce_np/cnp_dscp"), "48\n");
}

// The list is the driver's, as the congestion facts (A1) cite it, without what urnic's model does not have:
// np_cnp_prio_mode, rtt_resp_dscp and rtt_resp_dscp_valid.
TEST_F(PathTree, ShowsTheParametersUnderTheNamesOfMainlineLinuxToo) {
  nic::DeviceConfig config = device();
  config.congestion = nic::parse_congestion("dcqcn:clamp_tgt_rate_after_time_inc=0").value().choice;
  const auto made = make_path_tree(paths(), {{.config = config}});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path params = fs::path(made.value()) / "sys/kernel/debug/mlx5/urnic0/cc_params";
  EXPECT_EQ(
      names_in(params),
      (std::set<std::string>{"rp_clamp_tgt_rate", "rp_clamp_tgt_rate_ati", "rp_time_reset", "rp_byte_reset",
                             "rp_threshold", "rp_ai_rate", "rp_max_rate", "rp_hai_rate", "rp_min_dec_fac",
                             "rp_min_rate", "rp_rate_to_set_on_first_cnp", "rp_dce_tcp_g", "rp_dce_tcp_rtt",
                             "rp_rate_reduce_monitor_period", "rp_initial_alpha_value", "rp_gd",
                             "np_min_time_between_cnps", "np_cnp_dscp", "np_cnp_prio"}));
  EXPECT_EQ(text(params / "rp_clamp_tgt_rate_ati"), "0\n");
  EXPECT_EQ(text(params / "rp_time_reset"), "300\n");
  EXPECT_EQ(text(params / "np_min_time_between_cnps"), "4\n");
  EXPECT_EQ(text(params / "np_cnp_prio"), "6\n");

  // They are the same files: what is written to one stands in the other.
  std::ofstream(params / "rp_ai_rate") << "77\n";
  EXPECT_EQ(text(fs::path(made.value()) / "sys/class/infiniband/urnic0/ecn/roce_rp/rpg_ai_rate"), "77\n");
}

// As sysfs has them: what may not be written has no mode for it, which is what the preloaded library goes by.
TEST_F(PathTree, LetsOnlyTheParametersBeWritten) {
  nic::DeviceConfig config = device();
  config.congestion = nic::parse_congestion("dcqcn").value().choice;
  const auto made = make_path_tree(paths(), {{.config = config}});
  ASSERT_TRUE(made) << made.error().message;
  std::size_t writable = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(made.value()) / "sys")) {
    if (!entry.is_regular_file()) continue;
    const std::string path = fs::canonical(entry.path()).string();
    const bool is_parameter = path.find("/ecn/roce_") != std::string::npos || path.ends_with("/lifespan");
    const fs::perms wanted = is_parameter ? fs::perms{0644} : fs::perms{0444};
    EXPECT_EQ(entry.status().permissions(), wanted) << entry.path();
    writable += is_parameter ? 1 : 0;
  }
  EXPECT_EQ(writable, 2 * 19u + 1) << "under both names, and lifespan";
}

TEST_F(PathTree, ShowsNoParametersOfAControllerThatIsNotThere) {
  for (const char* const choice : {"none", "timely", "fixed:rate=5"}) {
    nic::DeviceConfig config = device();
    config.congestion = nic::parse_congestion(choice).value().choice;
    const auto made = make_path_tree(paths(), {{.config = config}});
    ASSERT_TRUE(made);
    const fs::path ecn = fs::path(made.value()) / "sys/class/infiniband/urnic0/ecn";
    EXPECT_FALSE(fs::exists(ecn / "roce_rp")) << choice;
    EXPECT_EQ(names_in(fs::path(made.value()) / "sys/kernel/debug/mlx5/urnic0/cc_params"),
              (std::set<std::string>{"np_min_time_between_cnps", "np_cnp_dscp", "np_cnp_prio"}));
    EXPECT_EQ(text(ecn / "roce_np/min_time_between_cnps"), "4\n");
  }
}

TEST_F(PathTree, IsMadeAnewByTheSameProcess) {
  const auto first = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(first);
  fs::create_directories(fs::path(first.value()) / "sys/left");
  const auto second = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first.value(), second.value());
  EXPECT_FALSE(fs::exists(fs::path(second.value()) / "sys/left"));
}

TEST_F(PathTree, IsRemovedByTheNextWhenItsProcessIsGone) {
  const fs::path left = tree_of(make_in_child());
  ASSERT_TRUE(fs::exists(left));
  ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(PathTree, StaysWhileSomebodyLivesWhomItsProcessStarted) {
  pid_t heir = 0;
  const fs::path used = tree_of(make_in_child(&heir));
  ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  EXPECT_TRUE(fs::exists(used / "sys"));
  kill(heir, SIGKILL);
  // It is no child of ours: its end is seen by its lock.
  for (int i = 0; i < 500 && fs::exists(used); ++i) {
    usleep(10'000);
    ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  }
  EXPECT_FALSE(fs::exists(used));
}

TEST_F(PathTree, IsItsOwnInEachPidNamespaceThatSharesTheFolder) {
  const fs::path elsewhere = tree_of(getpid(), 17);
  fs::create_directories(elsewhere);
  const auto lock = nic::LockFile::open((elsewhere / "lock").string(), nic::LockFile::Missing::kCreate);
  ASSERT_TRUE(lock && lock.value().try_lock());
  const auto made = make_path_tree(paths(), {{.config = device()}});
  ASSERT_TRUE(made);
  EXPECT_NE(made.value(), elsewhere.string());
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(PathTree, IsRemovedByTheNextWhenItsPidNamespaceIsGone) {
  const fs::path left = tree_of(getpid(), 17);
  fs::create_directories(left);
  std::ofstream(left / "lock") << "";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::seconds(11));
  ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  EXPECT_FALSE(fs::exists(left));
}

// Seen once: two containers began at the same moment, and one of them could not lock its folder.
TEST_F(PathTree, StaysWhileAProcessOfAnotherPidNamespaceMayStillLockIt) {
  const fs::path in_the_making = tree_of(getpid(), 17);
  fs::create_directories(in_the_making);
  ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  EXPECT_TRUE(fs::exists(in_the_making));
}

TEST_F(PathTree, LeavesAloneWhatIsNotATree) {
  fs::create_directories(fs::path(paths()) / "notes");
  fs::create_directories(fs::path(paths()) / "12x");
  ASSERT_TRUE(make_path_tree(paths(), {{.config = device()}}));
  EXPECT_TRUE(fs::exists(fs::path(paths()) / "notes"));
  EXPECT_TRUE(fs::exists(fs::path(paths()) / "12x"));
}

TEST_F(PathTree, SaysWhyItCannotBeMade) {
  std::ofstream(folder() + "/file") << "in the way";
  const auto made = make_path_tree(folder() + "/file/paths", {{.config = device()}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("file"));
}

}  // namespace
}  // namespace urnic::tools
