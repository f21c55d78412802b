// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the user may say about the DPDK ports.
#pragma once

#include <cstdint>
#include <string>

namespace urnic::drivers {

/// The largest link MTU that the drivers take, bytes.
inline constexpr std::uint16_t kMaxLinkMtu = 9600;

struct DpdkOptions {
  bool verbose = false;  ///< let EAL and its drivers print to stderr
  /// Whether what is sent before the port's first peer has come waits for that peer, for a few seconds.
  bool waits_for_first_peer = true;
  /// Address space for rings and packet buffers, in MiB. Only what a pool touches becomes resident, except
  /// for a PCI card.
  unsigned memory_mib = 128;
  /// The one PCI card that DPDK may touch ("0000:03:00.0"), or none.
  std::string pci_address = {};
  /// Whether that card is given physical addresses, for which the memory consists of huge pages.
  bool has_physical_addresses = false;
};

}  // namespace urnic::drivers
