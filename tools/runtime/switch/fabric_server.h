// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FabricServer: answers what programs and other switches ask of a switch, which itself runs on a thread
// beside it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/dpdk/options.h"
#include "drivers/fabric/control.h"
#include "drivers/fabric/network_switch.h"
#include "drivers/fabric/switch_lock.h"
#include "drivers/fabric/switch_loop.h"
#include "drivers/network/topology.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "nic/host/lock_file.h"
#include "nic/host/port_spec.h"
#include "nic/host/repetition.h"
#include "tools/runtime/switch/kept_files.h"
#include "transport/result.h"

namespace urnic::tools {

/// A switch of a fabric with one vhost-user front for each NIC; the first switch also has one for each other
/// switch. A front is made when a NIC first asks for its slot, or a switch for its trunk, and then stays:
/// when the NIC or switch dies, the front waits for the next one.
///
/// With a network, the NIC in slot N is its host N, the uplink its last host, and there are no other
/// switches.
class FabricServer {
 public:
  struct Options {
    std::string name;                     ///< of the fabric
    unsigned number = 0;                  ///< of the switch, below nic::kFabricSwitches
    std::string program;                  ///< this one, to start the first switch when that is gone
    std::uint16_t link_mtu = 0;           ///< bytes, of IP packets
    std::optional<nic::PortSpec> uplink;  ///< a port to the world; of all switches but the first their trunk
    std::optional<network::Topology> network{};  ///< as read_network() gives it; without, a learning switch
    drivers::DpdkOptions dpdk;
    drivers::SwitchStart start = drivers::SwitchStart::kByHand;
  };

  /// Becomes that switch of the fabric, uplink included. The error: as drivers::take_switch_lock(), or of the
  /// ports; EBUSY: programs are on the fabric already, and have direct links that pass by the network.
  static Result<std::unique_ptr<FabricServer>, Error> open(const Options& options);
  FabricServer(const FabricServer&) = delete;
  FabricServer& operator=(const FabricServer&) = delete;
  /// Ends the switch; programs that are on it lose their peers.
  ~FabricServer();

  /// Answers requests until a client asks it to stop, `end_fd` becomes readable, no program has been on the
  /// fabric for `linger` (nothing: without end), or its folder has been removed.
  void serve(int end_fd, std::optional<std::chrono::seconds> linger);

  /// What the faults of the network's links hit so far, for people; a line each.
  std::vector<std::string> fault_report();

 private:
  using OptionalPort = std::optional<drivers::Switch::PortNumber>;

  FabricServer(const Options& options, nic::FabricFolder folder, nic::LockFile lock,
               drivers::ControlSocket control, std::unique_ptr<drivers::SwitchLoop> loop,
               drivers::NetworkSwitch* network);
  Result<void, Error> open_uplink(const Options& options);
  /// A process that has a port, and what the switch says for it once it has ended.
  struct Holder {
    drivers::Descriptor process;  // readable then
    drivers::Descriptor last_words;
  };
  struct LastFrame {
    drivers::Switch::PortNumber port = 0;
    std::vector<std::byte> frame;
    nic::Repetition repetition;
  };
  void answer(drivers::ControlSocket::Request& request);
  void take_holder(std::string_view arguments, drivers::ControlSocket::Request& request);
  void speak_for(unsigned slot);
  void send_last_frames();
  int timeout_ms() const;
  Result<void, Error> serve_survivors();
  Result<std::string, Error> answer_port(std::string_view arguments);
  Result<void, Error> answer_trunk(std::string_view arguments);
  Result<std::string, Error> answer_network(std::string_view arguments);
  Result<void, Error> provide(OptionalPort& port, const std::string& socket, bool waits_for_peer = true);
  void connect(drivers::Switch::PortNumber port, std::size_t host);
  Result<void, Error> check_host(unsigned slot) const;
  std::string status();
  bool is_first() const { return options_.number == 0; }
  bool is_mine(unsigned slot) const { return nic::switch_of_slot(slot) == options_.number; }
  void keep_lock();
  void keep_trunk() const;
  bool is_deserted() const;
  bool is_found() const;

  const Options options_;
  const nic::FabricFolder folder_;
  const nic::SwitchFiles files_;
  nic::LockFile lock_;
  const drivers::ControlSocket control_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  bool stop_wanted_ = false;
  OptionalPort uplink_;
  std::array<OptionalPort, nic::kFabricPorts> ports_;  // by slot
  std::array<Holder, nic::kFabricPorts> holders_;      // the same
  KeptFiles kept_files_;                               // of those holders
  std::vector<LastFrame> last_frames_;
  std::array<OptionalPort, nic::kFabricSwitches> trunks_;  // of the first switch, by the others' numbers
  std::unique_ptr<drivers::SwitchLoop> loop_;
  drivers::NetworkSwitch* const network_;  // null without a network; the loop's, which is asked to use it
  std::thread thread_;                     // runs the loop
};

}  // namespace urnic::tools
