// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PciCard: a network card that a program drives by itself, as the kernel's files tell of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// What a card has to reach of a process: rings, frame buffers, and what its driver keeps beside them, in
/// bytes. All of it is locked.
inline constexpr std::size_t kPciMemoryBytes = std::size_t{64} << 20;

/// A card that is bound to a driver which leaves it to programs.
class PciCard {
 public:
  enum class Access : std::uint8_t {
    kIommu,  ///< vfio-pci with an IOMMU: the card reaches memory of this process only, by its own addresses
    kPhysical,  ///< uio_pci_generic, igb_uio, or vfio-pci without IOMMU: physical addresses, so root and huge pages
  };

  /// The card at `address` ("0000:03:00.0"), if this process may drive it now; `memory_bytes` is what the
  /// card has to reach. The error says what stands in the way, and what to do: no such card, no network card,
  /// bound to a driver of the kernel, its group not ours, too little memory that may be locked, no huge
  /// pages. `sysfs` and `dev` are for tests.
  static Result<PciCard, Error> find(const std::string& address, std::size_t memory_bytes,
                                     const std::string& sysfs = "/sys", const std::string& dev = "/dev");

  const std::string& address() const { return address_; }
  Access access() const { return access_; }

  /// Has the card for this process alone as long as the descriptor lives, among programs that ask so. EBUSY:
  /// another one has it.
  Result<Descriptor, Error> lock() const;

 private:
  PciCard(std::string address, std::string folder, Access access)
      : address_(std::move(address)), folder_(std::move(folder)), access_(access) {}

  std::string address_;
  std::string folder_;  // of sysfs
  Access access_;
};

}  // namespace urnic::drivers
