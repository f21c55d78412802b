// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Lease: which side of a wire and which addresses are this program's, for as long as it lives.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "nic/host/port_spec.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// A locked slot file. The kernel drops the lock when the last descriptor of it is closed, so that a lease
/// ends with the program however the program ends; the file stays and is used again. A vhost-user wire has
/// two slots, a fabric and a network interface have several: see LeaseSlots. The file names the process and
/// its addresses, for the program that comes next.
///
/// Move-only; not for several threads at once.
class Lease {
 public:
  /// What is wanted. An address that is not given is found on vhost-user wires and fabrics, in the
  /// default_network(): 1 for the front or port 0, 2 for the back or port 1, and so on, or the next one that
  /// no other NIC has.
  struct Request {
    PortSpec port;          ///< `side` and `slot` count only without `any_slot`
    bool any_slot = false;  ///< the first that is free: front before back
    std::optional<transport::wire::Ipv4Address> ipv4;
    std::optional<transport::wire::Ipv6Address> ipv6;
    std::optional<transport::wire::Mac> mac{};  ///< otherwise mac_for() the addresses
    /// How long to wait for a program that is just ending, its linger for its peer included; eight times that
    /// for programs that look for a slot at the same time.
    std::chrono::milliseconds patience{
        1200};  ///< ten seconds more for one that was killed and is not gone yet
  };

  Lease() = default;  ///< holds nothing

  /// Takes a slot of the port's wire. EBUSY, EADDRINUSE: after all patience the slots, or one of the
  /// addresses, the MAC included, are taken, and by whom. A port that needs no slot has nothing held; port()
  /// and, of a loopback or a bench, ipv4() are still set.
  static Result<Lease, Error> take(const Request& request);

  /// The lease that `urnic run` took, for the process of that run that asks first. `exported` is what the run
  /// made of it: the port with its slot, and the addresses; the patience counts for other processes that look
  /// at the slots. The slot is opened by its name, as many programs close descriptors for their children.
  ///
  /// Nothing: another process of the run uses the lease, or another program has the slot by now. So no two
  /// processes ever have one address.
  ///
  /// `launchers` is the number that the launcher's descriptor has, or may have had: if it is of the slot, the
  /// lease takes it over, as a child that outlives this process would hold the slot by it. -1: none.
  static std::optional<Lease> adopt(const Request& exported, int launchers = -1);

  bool is_held() const { return static_cast<bool>(file_); }
  /// -1 when nothing is held. Closed by exec, until keep_over_exec().
  int descriptor() const { return file_.get(); }
  /// The wanted port, with the side or slot that was got.
  const PortSpec& port() const { return port_; }
  /// The address that was requested or found; nothing for an interface when none was requested, and after
  /// adopt().
  const std::optional<transport::wire::Ipv4Address>& ipv4() const { return ipv4_; }

  /// Lets the descriptor survive exec, in the same number. The error is the system's.
  Result<void, Error> keep_over_exec() const;

 private:
  Descriptor file_;
  Descriptor launchers_;
  PortSpec port_;
  std::optional<transport::wire::Ipv4Address> ipv4_;
};

/// A locally administered MAC that stays the same whenever the addresses do: 02:00 and the IPv4 address, or
/// 02:01 and a hash of the IPv6 address. At least one is given.
transport::wire::Mac mac_for(const std::optional<transport::wire::Ipv4Address>& ipv4,
                             const std::optional<transport::wire::Ipv6Address>& ipv6);

}  // namespace urnic::nic
