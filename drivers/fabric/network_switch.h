// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NetworkSwitch: a switch whose ports are the hosts of a network, in real time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/fabric/switch.h"
#include "drivers/fault/network_faults.h"
#include "drivers/network/network.h"
#include "drivers/network/sink.h"
#include "drivers/network/topology.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// A frame takes the time, and has the fate, that the model in drivers/network gives it: it comes in at a
/// host's port, is sent by that host's NIC, and leaves at the port of the host that it reaches. While the
/// queue of a NIC has no room for a port's next frame, whether it is full or paused, the port is not read any
/// further. A frame that reaches a host whose port has no room at that moment is dropped and counted, as a
/// NIC does whose program is slow. Each frame is copied twice: into the network, and out of it.
///
/// An address belongs without time limit to the host that sent from it last. The switch knows the first
/// kMaxAddresses of ForwardingTable; frames to all others reach all hosts.
class NetworkSwitch final : public Switch, private network::Sink {
 public:
  /// `topology` has passed check(). The outages of its links count from `start`. `faults` are its links', or
  /// null.
  NetworkSwitch(network::Topology topology, std::unique_ptr<NetworkFaults> faults, Clock::time_point start);

  /// The port is that host's from now on; before, it is not read. A host has one port.
  void connect(PortNumber port, network::HostId host);

  Round run_round(Clock::time_point now) override;
  void inject(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) override;

  const network::Network& network() const { return network_; }
  /// What the faults of links hit, for people; a line each.
  std::vector<std::string> fault_report() const;

 private:
  /// The last sender at a port. The next frame is mostly from the same one, and needs no look into the table.
  struct LastSender {
    transport::wire::Mac mac;
    std::uint32_t generation = 0;  // of the table
    bool is_known = false;
  };

  void send_from(PortNumber number, Round& round, network::Time now);
  bool send(PortNumber number, std::span<const std::byte> frame, network::Time now);
  void learn(PortNumber number, const transport::wire::Mac& source, network::Time now);
  void deliver(network::HostId host, std::span<const std::byte> frame, network::Time time) override;

  std::unique_ptr<NetworkFaults> faults_;
  network::Network network_;
  std::vector<std::optional<PortNumber>> ports_by_host_;
  std::array<std::optional<network::HostId>, kMaxPorts> hosts_by_port_;
  std::array<LastSender, kMaxPorts> last_senders_{};
};

}  // namespace urnic::drivers
