// FabricServer: answers the requests of a fabric's programs; the switch itself runs on a thread beside it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "drivers/dpdk/options.h"
#include "drivers/fabric/control.h"
#include "drivers/fabric/switch_lock.h"
#include "drivers/fabric/switch_loop.h"
#include "nic/fabric_folder.h"
#include "nic/lock_file.h"
#include "nic/port_spec.h"
#include "transport/result.h"

namespace urnic::tools {

/// A switch with one vhost-user front for each NIC. Fronts are made when a NIC first asks for its slot and
/// then stay: a program that dies leaves a front that waits for the next one.
class FabricServer {
 public:
  struct Options {
    std::string name;
    std::uint16_t link_mtu = 0;           ///< bytes, of IP packets
    std::optional<nic::PortSpec> uplink;  ///< a port to the world
    drivers::DpdkOptions dpdk;
    drivers::SwitchStart start = drivers::SwitchStart::kByHand;
  };

  /// Becomes the switch of the fabric, uplink included. The error: as drivers::take_switch_lock(), or of the
  /// ports.
  static Result<std::unique_ptr<FabricServer>, Error> open(const Options& options);
  FabricServer(const FabricServer&) = delete;
  FabricServer& operator=(const FabricServer&) = delete;
  /// Ends the switch; programs that are on it lose their peers.
  ~FabricServer();

  /// Answers requests until somebody asks it to stop, `end_fd` becomes readable, nobody has been on the
  /// fabric for `linger` (nothing: for ever), or its folder has been removed.
  void serve(int end_fd, std::optional<std::chrono::seconds> linger);

 private:
  FabricServer(const Options& options, nic::FabricFolder folder, nic::LockFile lock,
               drivers::ControlSocket control, std::unique_ptr<drivers::SwitchLoop> loop);
  Result<void, Error> open_uplink(const Options& options);
  void answer(const drivers::ControlSocket::Request& request);
  Result<void, Error> serve_survivors();
  Result<void, Error> answer_port(std::string_view arguments);
  Result<void, Error> provide_port(unsigned slot);
  std::string status();
  bool is_deserted() const;
  bool is_found() const;

  const Options options_;
  const nic::FabricFolder folder_;
  const nic::LockFile lock_;
  const drivers::ControlSocket control_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  bool stop_wanted_ = false;
  std::optional<drivers::Switch::PortNumber> uplink_;
  std::array<std::optional<drivers::Switch::PortNumber>, nic::kFabricPorts> ports_;  // by slot
  std::unique_ptr<drivers::SwitchLoop> loop_;
  std::thread thread_;  // runs the loop
};

}  // namespace urnic::tools
