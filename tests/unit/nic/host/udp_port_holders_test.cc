// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sockets that have a UDP port, read from files as the system shows them.
#include "nic/host/udp_port_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace urnic::nic {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint16_t kPort = 4791;

TEST(UdpPortHolders, AreTheSocketsAtThePort) {
  const std::string head =
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref "
      "pointer drops\n";
  const std::string other =
      " 1071: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1234 2 "
      "0000 0\n";
  const std::string process =
      " 2711: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 34567 2 "
      "0000 0\n";
  const std::string kernel =
      " 2711: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000 "
      "0\n";
  EXPECT_THAT(udp_port_holders_of(head + other, kPort), IsEmpty());
  EXPECT_THAT(udp_port_holders_of(head + process + other, kPort),
              ElementsAre(UdpPortHolder{.is_kernel = false, .uid = 1000, .inode = 34567}));
  EXPECT_THAT(udp_port_holders_of(head + kernel, kPort),
              ElementsAre(UdpPortHolder{.is_kernel = true, .uid = 0}));
}

TEST(UdpPortHolders, AreInTheTableOfIpv6) {
  EXPECT_THAT(
      udp_port_holders_of("  9: 00000000000000000000000000000000:12B7 00000000000000000000000000000000:0000 "
                          "07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000 0\n",
                          kPort),
      ElementsAre(UdpPortHolder{.is_kernel = true, .uid = 0}));
}

TEST(UdpPortHolders, AreNotInLinesThatAreCutOff) {
  EXPECT_THAT(
      udp_port_holders_of(" 2711: 00000000:12B7 00000000:0000 07\n:\n\n 1: x 2 3 4 5 6 7 8 9 10\n", kPort),
      IsEmpty());
}

/// A folder that looks like the system's /.
class RootFolder {
 public:
  RootFolder() { path_ = mkdtemp(template_); }
  ~RootFolder() { fs::remove_all(path_); }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  std::string path() const { return path_; }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  void add_process(int number, const std::string& program, const std::string& third_descriptor) const {
    const std::string folder = "proc/" + std::to_string(number);
    write(folder + "/comm", program + "\n");
    fs::create_directories(path_ / folder / "fd");
    fs::create_symlink("/dev/null", path_ / folder / "fd/0");
    fs::create_symlink(third_descriptor, path_ / folder / "fd/3");
  }

 private:
  char template_[32] = "/tmp/urnic-root-XXXXXX";
  fs::path path_;
};

TEST(UdpPortHolders, HaveTheProcessesThatHaveADescriptorOfTheSocket) {
  const RootFolder root;
  root.write("proc/net/udp",
             "1: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 34567 "
             "2 0 0\n");
  root.add_process(12, "parent", "socket:[34567]");
  root.add_process(13, "child", "socket:[34567]");
  root.add_process(14, "other", "socket:[34568]");
  root.add_process(15, "reader", "pipe:[34567]");
  std::vector<UdpPortHolder> holders = udp_port_holders_and_processes(kPort, root.path());
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_THAT(holders[0].processes, testing::UnorderedElementsAre(UdpPortHolder::Process{12, "parent"},
                                                                  UdpPortHolder::Process{13, "child"}));
}

TEST(UdpPortHolders, AreNamedOnceEachAndNotEndlessly) {
  EXPECT_EQ(processes_text({}), "");
  UdpPortHolder holder{.processes = {{12, "a"}, {13, "b"}}};
  EXPECT_EQ(processes_text({holder, holder}), "process 12 (a), process 13 (b)");
  for (int i = 14; i < 20; ++i) holder.processes.push_back({i, "c"});
  EXPECT_EQ(processes_text({holder}),
            "process 12 (a), process 13 (b), process 14 (c), process 15 (c) and others");
}

}  // namespace
}  // namespace urnic::nic
