// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LeaseSlots: the lock files of a wire, and what stands in them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "nic/host/lock_file.h"
#include "nic/host/port_spec.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// Where the slots of a wire are. Of a vhost-user wire: `SOCKET.front` and `SOCKET.back` beside its socket.
/// Of a fabric and of a network interface: in the user's private folder.
struct LeaseSlots {
  std::string guard;               ///< locked by a program that looks at several slots
  std::vector<std::string> slots;  ///< of a vhost wire: front, back
  std::string network{};           ///< of a fabric: says its default network, see default_network()

  /// Not for a loopback port, which has none. The error: as private_folder().
  static Result<LeaseSlots, Error> of(const PortSpec& port);
};

/// What a slot's file says about its holder. Whatever it does not say is left empty: it may be torn or
/// hand-written.
struct LeaseRecord {
  int process = 0;
  std::optional<transport::wire::Ipv4Address> ipv4;
  std::optional<transport::wire::Ipv6Address> ipv6;
  std::optional<transport::wire::Mac> mac;
};

/// The /24 network, with its last octet 0, of which NICs get an address when they ask for none. A wire has
/// 10.77.0.0. A fabric draws one of 16384 when its first NIC comes and keeps it in a file, so that programs
/// on two fabrics (of two users, of containers without a common folder) do not take each other's addresses
/// for their own. Call it with the guard locked. The error is the system's.
Result<transport::wire::Ipv4Address, Error> default_network(const LeaseSlots& wire);

/// Whether another process, or another lease of this one, has the slot: as a launcher that took it, or as the
/// program that uses it. Otherwise the slot is locked for `file`.
bool is_held_elsewhere(const LockFile& file);

LeaseRecord read_lease_record(const LockFile& file);
/// The error is the system's.
Result<void, Error> write_lease_record(const LockFile& file, const LeaseRecord& record);

/// The guard, locked. EBUSY: another process has it, after so much patience; the error says what to do.
Result<LockFile, Error> lock_guard(const LeaseSlots& wire, std::chrono::milliseconds patience);

/// A slot that a program holds.
struct HeldSlot {
  unsigned slot = 0;
  LeaseRecord record;
};

/// The slots that are held on the wire now, in order. Waits up to a second for programs that look at the
/// slots at this moment; EBUSY: they still do.
Result<std::vector<HeldSlot>, Error> held_slots(const PortSpec& port);

}  // namespace urnic::nic
