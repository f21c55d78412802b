// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/eal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drivers/dpdk/shielded.h"

namespace urnic::drivers {

namespace {

// The packet memory is a memfd without close-on-exec: a program's children would keep it alive.
int close_on_exec(const rte_memseg_list*, const rte_memseg* segment, void*) {
  const int fd = rte_memseg_get_fd_thread_unsafe(segment);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return 1;  // one file holds all segments
}

std::optional<Error> initialise(const DpdkOptions& options) {
  // EAL keeps pointers into its arguments. They are never destroyed: a program may end while EAL still starts
  // on another thread.
  static std::vector<std::string>& arguments = *new std::vector<std::string>;
  arguments = {
      "urnic", "--no-shconf", "--no-telemetry", "--file-prefix=urnic", "-m",
      std::to_string(options.memory_mib),
      // One logical core, so that EAL starts no workers. Which processor it says does not matter: see
      // __wrap_pthread_setaffinity_np() in linker_hooks.cc.
      "--lcores=0@0", options.verbose ? "--log-level=*:info" : "--log-level=emergency"};
  if (options.pci_address.empty()) {
    arguments.emplace_back("--no-pci");
  } else {
    arguments.push_back("--allow=" + options.pci_address);
  }
  if (options.has_physical_addresses) {
    // Huge pages in files that have no name: no file remains afterwards.
    arguments.insert(arguments.end(), {"--in-memory", "--iova-mode=pa"});
  } else {
    arguments.insert(arguments.end(), {"--no-huge", "--iova-mode=va"});
  }
  static std::vector<char*>& argv = *new std::vector<char*>;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0) {
    if (access("/sys/devices/system/cpu", F_OK) != 0) {
      return Error{
          ENOENT,
          "/sys/devices/system/cpu is not there, and DPDK finds no processors without it; urnic needs "
          "/sys: mount -t sysfs sysfs /sys"};
    }
    return Error{EIO, fmt::format("DPDK does not start: {} (URNIC_VERBOSE=1 shows its own words)",
                                  rte_strerror(rte_errno))};
  }
  rte_memseg_walk(close_on_exec, nullptr);
  // EAL makes a folder of our prefix inside one that all DPDK programs of this user share. Without shared
  // configuration it stays empty; the outer one goes if no other program uses it.
  const std::filesystem::path runtime = rte_eal_get_runtime_dir();
  rmdir(runtime.c_str());
  rmdir(runtime.parent_path().c_str());
  return std::nullopt;
}

struct Eal {
  std::mutex mutex;
  bool tried = false;
  std::string pci_address;
  std::optional<Error> error;
};

// Never destroyed: threads of DPDK outlive main().
Eal& eal_of_this_process() {
  static Eal* const eal = new Eal;
  return *eal;
}

}  // namespace

Result<void, Error> start_eal(const DpdkOptions& options) {
  Eal& eal = eal_of_this_process();
  const std::lock_guard lock(eal.mutex);
  if (!eal.tried) {
    const auto ran = run_shielded([&] { eal.error = initialise(options); });
    if (!ran) return ran.error();
    eal.tried = true;
    eal.pci_address = options.pci_address;
  }
  if (eal.error) return *eal.error;
  if (!options.pci_address.empty() && options.pci_address != eal.pci_address) {
    return Error{EBUSY,
                 fmt::format("PCI card {}: DPDK runs in this process already, and may not touch that card",
                             options.pci_address)};
  }
  return success();
}

}  // namespace urnic::drivers
