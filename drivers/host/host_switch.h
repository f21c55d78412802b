// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostSwitch: has the UDP sockets of a host's NIC, and shares them out to processes.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/fabric/control.h"
#include "drivers/fabric/switch_lock.h"
#include "drivers/host/connection_requests.h"
#include "drivers/host/ended_members.h"
#include "drivers/host/host_ports.h"
#include "drivers/host/host_status.h"
#include "drivers/host/message.h"
#include "drivers/host/slot_list.h"
#include "drivers/host/socket_group.h"
#include "drivers/udp/listeners.h"
#include "drivers/udp/local_addresses.h"
#include "drivers/udp/sender.h"
#include "nic/host/lock_file.h"
#include "nic/host/switch_files.h"
#include "transport/result.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

/// A process becomes a member by a connection, and is one until it ends, or the connection does: a child that
/// has a copy of it keeps nothing alive. The packets of its queue pairs never come here, as the kernel gives
/// them to its own sockets. All that connection managers say comes here first, and goes on to members in the
/// same order. All on one thread.
class HostSwitch final : private ConnectionRequests::Members {
 public:
  struct Config {
    nic::SwitchFiles files;
    SwitchStart start = SwitchStart::kByHand;
    std::uint16_t port = transport::wire::kRocePort;
    /// Have another port where that one is another user's, or the kernel's: then the NIC is for programs of
    /// this host alone.
    bool may_be_elsewhere = false;
  };

  /// Becomes the switch that the files are for. The error: as take_switch_lock(), claim_shared_name() or
  /// SocketGroup::open(), or the system's.
  static Result<std::unique_ptr<HostSwitch>, Error> open(const Config& config);
  ~HostSwitch() override;
  HostSwitch(const HostSwitch&) = delete;
  HostSwitch& operator=(const HostSwitch&) = delete;

  /// Serves until a client asks it to stop, `end_fd` becomes readable, or there has been no member for
  /// `linger` (nothing: without end).
  void serve(int end_fd, std::optional<std::chrono::milliseconds> linger);

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Descriptor socket;
    Descriptor process;  // readable once it has ended; none where that cannot be known
    int process_id = 0;
    unsigned slot = 0;       // 0: no member
    Descriptor handed_over;  // a member's: where packets go to it
    Descriptor last_words;   // the same, if it has some
    bool is_over = false;
  };

  HostSwitch(const Config& config, nic::LockFile lock, Descriptor shared_control, ControlSocket control,
             SocketGroup group, Listeners listeners, bool has_survivors);

  void wait(int end_fd, std::optional<std::chrono::milliseconds> linger, Clock::time_point last_used);
  int timeout_ms(std::optional<std::chrono::milliseconds> linger, Clock::time_point last_used) const;
  void accept_one(int listener);
  void serve_connections(Clock::time_point now);
  void forget_ended(Clock::time_point now);
  void take_packets(Clock::time_point now);
  void take_strays(Connection& connection, Clock::time_point now);
  void on_packet(std::span<const std::byte> packet, HostStatus::Passed& passed, Clock::time_point now);
  void keep_socket(Clock::time_point now);
  void speak_for_ended(Clock::time_point now);
  void send_packet(std::span<const std::byte> packet);

  void take_requests(Connection& connection, Clock::time_point now);
  void serve_request(Connection& connection, const HostRequest& request, std::vector<Descriptor> passed,
                     Clock::time_point now);
  void join(Connection& connection, const HostRequest& request, std::vector<Descriptor> passed,
            Clock::time_point now);
  Result<unsigned, int> provide_slot(unsigned wanted, Clock::time_point now);
  void serve_ports(Connection& connection, const HostRequest& request, Clock::time_point now);
  void tell_status(Connection& connection, const HostRequest& request);
  void send(Connection& connection, HostAnswer answer, const HostRequest& request,
            std::span<const int> descriptors = {});

  bool has_members() const;
  HostStatus status() const;
  Connection* member(unsigned slot) const;

  std::optional<unsigned> listener_of(const RequestedService& service) const override;
  std::optional<unsigned> refuser() const override;
  bool hand_over(unsigned slot, std::span<const std::byte> packet) override;

  const nic::SwitchFiles files_;
  const nic::LockFile lock_;         // destroyed last: then the next switch finds the port free
  const Descriptor shared_control_;  // of the shared name, if any
  ControlSocket control_;
  SocketGroup group_;
  Listeners listeners_;  // socket 0
  SlotList slots_;
  HostPorts ports_;
  ConnectionRequests requests_;
  const LocalAddresses addresses_{{}};
  UdpSender sender_;
  EndedMembers ended_;
  HostStatus::Passed messages_;
  HostStatus::Passed strays_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<pollfd> polled_;
  std::size_t polled_connections_ = 0;
  Clock::time_point looked_at_socket_{};
  bool stop_wanted_ = false;
  Clock::time_point settled_at_{};  // until then only members of an earlier switch join
};

}  // namespace urnic::drivers
