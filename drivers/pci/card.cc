// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pci/card.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace urnic::drivers {

namespace {

namespace fs = std::filesystem;

template <typename... Arguments>
Error card_error(int code, const std::string& address, fmt::format_string<Arguments...> reason,
                 Arguments&&... arguments) {
  return Error{code, fmt::format("PCI card {}: {}", address,
                                 fmt::format(reason, std::forward<Arguments>(arguments)...))};
}

/// The name of what a link points to; empty when there is none.
std::string name_behind(const fs::path& link) {
  std::error_code code;
  const fs::path target = fs::read_symlink(link, code);
  return code ? "" : target.filename().string();
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Of a number that is written with base 16 and "0x", or with base 10; 0 for anything else.
std::uint64_t number_in(const fs::path& file) {
  const std::string text = first_line(file);
  const bool is_hexadecimal = text.starts_with("0x");
  std::uint64_t number = 0;
  std::from_chars(text.data() + (is_hexadecimal ? 2 : 0), text.data() + text.size(), number,
                  is_hexadecimal ? 16 : 10);
  return number;
}

bool is_network_card(const fs::path& folder) {
  return number_in(folder / "class") >> 16 == 0x02;
}

bool is_root() {
  return geteuid() == 0;
}

Error not_bound(const std::string& address, const std::string& driver) {
  return card_error(
      EBUSY, address,
      "{}, and a program can drive it only when vfio-pci has it (or uio_pci_generic, where there is no "
      "IOMMU): 'dpdk-devbind.py --bind=vfio-pci {}' as root; the interface that it is for the kernel goes "
      "with that",
      driver.empty() ? std::string("no driver has it") : fmt::format("the driver {} has it", driver),
      address);
}

/// Memory that the kernel locks for a card with an IOMMU counts against a limit.
Result<void, Error> check_locked_memory(const std::string& address, std::size_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (is_root() || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes) return success();
  return card_error(ENOMEM, address,
                    "it has to reach {} MiB of memory, and this user may lock {} KiB; allow more: 'ulimit "
                    "-l' or 'memlock' in /etc/security/limits.conf, or LimitMEMLOCK= of a service",
                    bytes >> 20, limit.rlim_cur >> 10);
}

Result<void, Error> check_group(const std::string& address, const fs::path& folder, const fs::path& dev,
                                std::size_t memory_bytes) {
  const std::string group = name_behind(folder / "iommu_group");
  const fs::path node = dev / "vfio" / group;
  for (const fs::path& file : {dev / "vfio/vfio", node}) {
    if (access(file.c_str(), R_OK | W_OK) == 0) continue;
    const int code = errno;
    if (code == EACCES || code == EPERM) {
      return card_error(code, address,
                        "this user may not open {}; give it to the user: 'chown {} {}' as root",
                        file.string(), geteuid(), file.string());
    }
    return card_error(code, address, "{}: {}", file.string(), std::strerror(code));
  }
  return check_locked_memory(address, memory_bytes);
}

/// Without an IOMMU the card gets physical addresses, which only root sees, of pages that stay where they
/// are.
Result<void, Error> check_physical(const std::string& address, const std::string& driver,
                                   const fs::path& sysfs, std::size_t memory_bytes) {
  if (!is_root()) {
    return card_error(EACCES, address,
                      "by {} it has no IOMMU, so only root may drive it; with an IOMMU (vfio-pci) a user who "
                      "has its group's file below /dev/vfio may, too",
                      driver);
  }
  constexpr std::size_t kPageBytes = std::size_t{2} << 20;
  const std::size_t needed = (memory_bytes + kPageBytes - 1) / kPageBytes;
  const auto free = number_in(sysfs / "kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  if (free < needed) {
    return card_error(ENOMEM, address,
                      "by {} it needs {} huge pages of 2 MiB, and {} are free: 'echo {} > "
                      "/proc/sys/vm/nr_hugepages' as root",
                      driver, needed, free, 2 * needed);
  }
  return success();
}

}  // namespace

Result<PciCard, Error> PciCard::find(const std::string& address, std::size_t memory_bytes,
                                     const std::string& sysfs, const std::string& dev) {
  const fs::path folder = fs::path(sysfs) / "bus/pci/devices" / address;
  std::error_code code;
  if (!fs::exists(folder, code)) {
    return card_error(ENODEV, address, "there is none; 'lspci -D' lists all addresses");
  }
  if (!is_network_card(folder)) {
    return card_error(ENODEV, address, "is no network card (class {})", first_line(folder / "class"));
  }
  const std::string driver = name_behind(folder / "driver");
  const bool is_vfio = driver == "vfio-pci";
  if (!is_vfio && driver != "uio_pci_generic" && driver != "igb_uio") return not_bound(address, driver);
  const std::string group = name_behind(folder / "iommu_group");
  const bool has_iommu = is_vfio && !fs::exists(fs::path(dev) / "vfio" / ("noiommu-" + group), code);
  const auto checked = has_iommu ? check_group(address, folder, dev, memory_bytes)
                                 : check_physical(address, driver, sysfs, memory_bytes);
  if (!checked) return checked.error();
  return PciCard(address, folder.string(), has_iommu ? Access::kIommu : Access::kPhysical);
}

Result<Descriptor, Error> PciCard::lock() const {
  // The file is there for every card, and readable for all; nothing of the card is read.
  Descriptor file(open((folder_ + "/config").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return card_error(errno, address_, "{}", std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    if (code != EWOULDBLOCK) return card_error(code, address_, "{}", std::strerror(code));
    return card_error(EBUSY, address_, "another process drives it; end that, or take another card");
  }
  return file;
}

}  // namespace urnic::drivers
