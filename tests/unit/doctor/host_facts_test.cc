// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What files of the system say. The texts are from Debian 12, shortened, unless a test says otherwise.
#include "tools/inspection/doctor/host_facts.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HostFacts, ReadsTheAvailableMemory) {
  EXPECT_EQ(available_memory_of("MemTotal:       24689764 kB\nMemAvailable:   2048 kB\nBuffers: 1 kB\n"),
            2048u * 1024);
  EXPECT_EQ(available_memory_of("MemTotal:       24689764 kB\n"), std::nullopt);
  EXPECT_EQ(available_memory_of("MemAvailable: many\n"), std::nullopt);
}

TEST(HostFacts, ReadsTheProcessorsFlags) {
  EXPECT_THAT(
      cpu_flags_of("processor\t: 0\nflags\t\t: fpu avx512f vpclmulqdq\n\nprocessor\t: 1\nflags\t\t: fpu\n"),
      ElementsAre("fpu", "avx512f", "vpclmulqdq"));
  EXPECT_THAT(cpu_flags_of("processor\t: 0\nFeatures\t: fp asimd pmull\n"),
              ElementsAre("fp", "asimd", "pmull"));
  EXPECT_THAT(cpu_flags_of("flags"), IsEmpty());
}

TEST(HostFacts, ReadsTheQuotaOfAControlGroup) {
  EXPECT_EQ(core_quota_of("150000 100000\n"), 1.5);
  EXPECT_EQ(core_quota_of("max 100000\n"), std::nullopt);
  EXPECT_EQ(core_quota_of("100000 0\n"), std::nullopt);
  EXPECT_EQ(core_quota_of(""), std::nullopt);
}

class FakeRoot : public ::testing::Test {
 protected:
  FakeRoot() {
    std::string name = ::testing::TempDir() + "doctor.XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~FakeRoot() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  HostFacts facts() const {
    return read_host_facts(Error{.code = ENOENT, .message = "no drop-in"}, root_.string());
  }

  fs::path root_;
};

TEST_F(FakeRoot, IsReadWhateverIsMissing) {
  const HostFacts found = facts();
  EXPECT_EQ(found.dropin_error, "no drop-in");
  EXPECT_EQ(found.available_memory, std::nullopt);
  EXPECT_EQ(found.shm_bytes, std::nullopt);
  EXPECT_THAT(found.cpu_flags, IsEmpty());
  EXPECT_THAT(found.rdma_devices, IsEmpty());
  EXPECT_GT(found.cores, 0u);
}

TEST_F(FakeRoot, HasRdmaDevices) {
  fs::create_directories(root_ / "sys/bus/pci/drivers/mlx5_core");
  fs::create_directories(root_ / "sys/class/infiniband/rxe0");
  fs::create_directories(root_ / "sys/class/infiniband/mlx5_0/device");
  fs::create_directory_symlink("../../../../bus/pci/drivers/mlx5_core",
                               root_ / "sys/class/infiniband/mlx5_0/device/driver");
  fs::create_directories(root_ / "sys/module/rdma_rxe");
  const HostFacts found = facts();
  EXPECT_THAT(found.rdma_devices, ElementsAre(RdmaDeviceFacts{.name = "mlx5_0", .driver = "mlx5_core"},
                                              RdmaDeviceFacts{.name = "rxe0", .driver = ""}));
  EXPECT_TRUE(found.has_rxe_module);
}

TEST_F(FakeRoot, HasAFirewall) {
  EXPECT_EQ(facts().firewall, "");
  write("proc/modules", "veth 45056 0 - Live 0x0\nnf_tables 323584 0 - Live 0x0\n");
  EXPECT_EQ(facts().firewall, "") << "it is there, and has no table";
  write("proc/modules", "veth 45056 0 - Live 0x0\nnf_tables 323584 42 nft_ct,nft_chain_nat, Live 0x0\n");
  EXPECT_EQ(facts().firewall, "nftables");
  write("proc/modules", "ip_tables 36864 1 iptable_filter, Live 0x0\nx_tables 61440 1 ip_tables, Live 0x0\n");
  EXPECT_EQ(facts().firewall, "iptables");
  fs::create_directories(root_ / "run/firewalld");
  EXPECT_EQ(facts().firewall, "firewalld");
  write("etc/ufw/ufw.conf", "# comment\nENABLED=no\n");
  EXPECT_EQ(facts().firewall, "firewalld");
  write("etc/ufw/ufw.conf", "# comment\nENABLED=yes\n");
  EXPECT_EQ(facts().firewall, "ufw");
}

TEST_F(FakeRoot, TakesTheSmallerOfTheMachineAndTheControlGroup) {
  write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  write("proc/self/cgroup", "0::/docker/abc\n");
  write("sys/fs/cgroup/docker/abc/memory.max", "314572800\n");
  write("sys/fs/cgroup/docker/abc/memory.current", "104857600\n");
  write("sys/fs/cgroup/docker/abc/cpu.max", "50000 100000\n");
  EXPECT_EQ(facts().available_memory, 200u << 20);
  EXPECT_EQ(facts().core_quota, 0.5);

  write("sys/fs/cgroup/docker/abc/memory.max", "max\n");
  EXPECT_EQ(facts().available_memory, 1u << 30);
}

TEST(HostFacts, SaysWhyALibraryCannotBeLoaded) {
  const std::string folder = ::testing::TempDir() + "doctor-dropin";
  fs::create_directories(folder);
  std::ofstream(folder + "/libibverbs.so.1") << "no library";
  const HostFacts found = read_host_facts(folder);
  EXPECT_EQ(found.dropin, folder + "/libibverbs.so.1");
  EXPECT_THAT(found.dropin_error, HasSubstr("libibverbs.so.1"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace urnic::tools
