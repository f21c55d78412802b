// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is said of cards on the PCI bus: a folder in place of /sys, and one in place of /dev.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "drivers/pci/card.h"

namespace urnic::drivers {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kAddress = "0000:03:00.0";
constexpr std::size_t kMemory = std::size_t{64} << 20;

class PciCards : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/urnic-pci-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directories(card());
    fs::create_directories(dev() / "vfio");
    write(card() / "class", "0x020000");
    write(card() / "config", "");
    write(sysfs() / "kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path sysfs() const { return root_ / "sys"; }
  fs::path dev() const { return root_ / "dev"; }
  fs::path card() const { return sysfs() / "bus/pci/devices" / kAddress; }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void bind_to(const std::string& driver) {
    fs::create_symlink("../../../../bus/pci/drivers/" + driver, card() / "driver");
  }
  void put_into_group(const std::string& group) {
    fs::create_symlink("../../../kernel/iommu_groups/" + group, card() / "iommu_group");
  }

  Result<PciCard, Error> find(const std::string& address = kAddress) const {
    return PciCard::find(address, kMemory, sysfs().string(), dev().string());
  }
  std::string refusal(const std::string& address = kAddress) const {
    const auto found = find(address);
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  }

 private:
  fs::path root_;
};

TEST_F(PciCards, AreRefusedWhereThereIsNone) {
  EXPECT_THAT(refusal("0000:04:00.0"), HasSubstr("PCI card 0000:04:00.0: there is none"));
}

TEST_F(PciCards, AreRefusedWhenTheyAreNoNetworkCards) {
  write(card() / "class", "0x010802");
  EXPECT_THAT(refusal(), HasSubstr("is no network card (class 0x010802)"));
}

TEST_F(PciCards, AreRefusedWhileTheKernelDrivesThem) {
  EXPECT_THAT(refusal(), HasSubstr("no driver has it"));
  bind_to("igb");
  EXPECT_THAT(refusal(), HasSubstr("the driver igb has it"));
  EXPECT_THAT(refusal(), HasSubstr("--bind=vfio-pci 0000:03:00.0"));
}

TEST_F(PciCards, AreRefusedBehindAnIommuWhenTheirGroupIsNotThere) {
  bind_to("vfio-pci");
  put_into_group("7");
  write(dev() / "vfio/vfio", "");
  EXPECT_THAT(refusal(), HasSubstr("vfio/7: No such file"));
}

TEST_F(PciCards, AreDrivenBehindAnIommuWithoutHugePages) {
  bind_to("vfio-pci");
  put_into_group("7");
  write(dev() / "vfio/vfio", "");
  write(dev() / "vfio/7", "");
  if (geteuid() != 0) {  // root may lock as much as it likes
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    const rlimit before = limit;
    limit.rlim_cur = 64 << 10;
    setrlimit(RLIMIT_MEMLOCK, &limit);
    EXPECT_THAT(refusal(), HasSubstr("it has to reach 64 MiB of memory, and this user may lock 64 KiB"));
    setrlimit(RLIMIT_MEMLOCK, &before);
    if (before.rlim_cur < kMemory) return;
  }
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found.value().access(), PciCard::Access::kIommu);
}

TEST_F(PciCards, NeedRootAndHugePagesWithoutAnIommu) {
  for (const std::string driver : {"uio_pci_generic", "igb_uio", "vfio-pci"}) {
    fs::remove(card() / "driver");
    bind_to(driver);
    if (driver == "vfio-pci") {
      put_into_group("3");
      write(dev() / "vfio/noiommu-3", "");
    }
    write(sysfs() / "kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "31");
    if (geteuid() != 0) {
      EXPECT_THAT(refusal(), HasSubstr("only root may drive it")) << driver;
      continue;
    }
    EXPECT_THAT(refusal(), HasSubstr("32 huge pages of 2 MiB, and 31 are free")) << driver;
    write(sysfs() / "kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "32");
    const auto found = find();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found.value().access(), PciCard::Access::kPhysical);
  }
}

TEST_F(PciCards, BelongToOneAtATime) {
  bind_to("vfio-pci");
  put_into_group("7");
  write(dev() / "vfio/vfio", "");
  write(dev() / "vfio/7", "");
  const auto found = find();
  if (!found) GTEST_SKIP() << found.error().message;
  {
    const auto first = found.value().lock();
    ASSERT_TRUE(first);
    const auto second = found.value().lock();
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("another process drives it"));
  }
  EXPECT_TRUE(found.value().lock());
}

}  // namespace
}  // namespace urnic::drivers
