// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The files of one device, as the kernel would show them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nic/config.h"

namespace urnic::tools {

/// Where a device is on the PCI bus that files show: "7572:00:00.0". No card of the host is in that domain,
/// so that programs which look there find nothing else.
struct PciPlace {
  std::uint16_t domain = 0;
  std::uint8_t slot = 0;  ///< a number for each device of a program, below 32

  /// Of the device with that number, in the first domain from 0x7572 ("ur") on that the folder, usually
  /// /sys/bus/pci/devices, does not have.
  static PciPlace choose(unsigned device, const std::filesystem::path& bus = "/sys/bus/pci/devices");

  std::string address() const;   ///< "7572:00:00.0"
  std::string bus_name() const;  ///< "pci7572:00", the folder of the bus below /sys/devices
};

/// What is known of a device whose files are made.
struct ShownDevice {
  const nic::DeviceConfig& config;
  unsigned number = 0;  ///< N of uverbsN
  PciPlace place{};
  /// A folder in the same file system, which several trees share: the device's counters are links to the
  /// files there, which are made if they are missing. Empty: the tree has counters of its own.
  std::filesystem::path shared_counters{};
};

/// Writes them below `tree`/sys and `tree`/dev: plain files, of which the parameters of congestion control
/// can be written (nic/congestion/parameter_watch.h) and have two names each, and the device's nodes as
/// links to /dev/null. The device stands below sys/devices, with a link to it in sys/class, as in sysfs.
/// Throws std::system_error.
void write_device_files(const std::filesystem::path& tree, const ShownDevice& device);

}  // namespace urnic::tools
