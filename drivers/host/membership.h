// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Membership: a process's part in the NIC of its host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/host/lent_ports.h"
#include "drivers/host/switch_connection.h"
#include "drivers/udp/socket_exchange.h"
#include "nic/host/switch_files.h"
#include "nic/port/number_share.h"
#include "nic/rdma_cm/shared_host.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The connection to the host's switch, which gives each process that joins it sockets and a share of the
/// numbers. The share is this process's as long as it lives, whatever descriptors its children inherit.
///
/// A thread watches the switch. When the switch ends before the process, the thread makes the port give back
/// its sockets, because the next switch's sockets must be the first ones. Then it joins the next switch, or
/// starts it, with the same share, and takes the same ports of rdma_cm. Until then packets are lost, as on
/// any link that is down for a moment; if it cannot join for kSilence, it says why. The same thread tells the
/// switch which ports are released, and borrows more before they are used up.
class Membership final : public nic::rdma_cm::SharedHost {
 public:
  /// So long a process is without a switch before it says so. The next switch takes a part of a second.
  static constexpr std::chrono::milliseconds kSilence{3000};

  /// Whether other hosts must be reached.
  enum class Reach : std::uint8_t {
    kAllHosts,
    kThisHostAtLeast,  ///< this host alone will do, where another user has RoCE's port
  };
  /// What a person should know of a process that stays without a switch, or is not without any more.
  using Report = std::function<void(const std::string&)>;
  /// Joins the switch that the files belong to; starts `switch_program` where no switch runs. Waits ten
  /// seconds at most. EADDRINUSE: the error says which program may have RoCE's port, and the remedy, or that
  /// this user's programs do not use that port; EUSERS: 255 processes are there already; otherwise the
  /// system's error. `last_words`, if any, is the file of a nic::LastWordsTable, which the switch reads when
  /// the process was killed. `report` is called on the watching thread. `interface` is the index of the one
  /// whose addresses the NIC has; 0: it has all of the host.
  static Result<std::unique_ptr<Membership>, Error> join(const nic::SwitchFiles& files,
                                                         const std::string& switch_program, Reach reach,
                                                         Descriptor last_words = Descriptor(),
                                                         Report report = {}, unsigned interface = 0);
  ~Membership() override;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  nic::NumberShare share() const {
    return {.bits = nic::NumberShare::kHostBits, .value = static_cast<std::uint8_t>(slot_)};
  }
  /// The name of the socket by which it found the switch.
  const std::string& control_socket() const { return control_socket_; }
  /// The sockets, now and after each change.
  const std::shared_ptr<SocketExchange>& exchange() const { return exchange_; }

  std::optional<std::uint16_t> take_lent(nic::rdma_cm::PortSpace space) override;
  void give_back_lent(nic::rdma_cm::PortSpace space, std::uint16_t port) override;
  void release(nic::rdma_cm::PortSpace space, std::uint16_t port, nic::rdma_cm::IdNumber id) override;
  Result<std::uint16_t, Error> bind(nic::rdma_cm::PortSpace space,
                                    const nic::rdma_cm::PortTable::Binding& binding) override;
  Result<void, Error> listen(nic::rdma_cm::PortSpace space, std::uint16_t port,
                             nic::rdma_cm::IdNumber id) override;

 private:
  using PortSpace = nic::rdma_cm::PortSpace;
  using Binding = nic::rdma_cm::PortTable::Binding;
  using BindingKey = std::tuple<PortSpace, std::uint16_t, nic::rdma_cm::IdNumber>;
  struct Joined;
  /// Eventfds.
  struct Signals {
    Descriptor stop;
    Descriptor work;
  };

  Membership(nic::SwitchFiles files, std::string switch_program, Reach reach, Joined joined, Signals signals,
             Descriptor last_words, Report report, unsigned interface);
  static Result<Joined, Error> try_to_join(const nic::SwitchFiles& files, unsigned slot, unsigned interface,
                                           const Descriptor& last_words);
  Result<void, Error> start_watching();
  void watch();
  void do_work();
  void join_again();
  std::optional<Error> try_to_join_again();
  bool take_ports_again();
  void release_if_gone(PortSpace space, const Binding& binding);
  bool is_stopped_within(std::chrono::milliseconds time) const;
  Result<HostAnswer, Error> ask(const HostRequest& request);
  Result<HostAnswer, Error> ask_this_or_the_next(const HostRequest& request);
  bool has_lost_switch();
  Result<void, Error> send_releases(std::chrono::milliseconds patience);
  bool has_more_lent(PortSpace space);

  const nic::SwitchFiles files_;
  const std::string switch_program_;
  const Reach reach_;
  const unsigned slot_;
  const std::string control_socket_;
  const std::shared_ptr<SocketExchange> exchange_ = std::make_shared<SocketExchange>();
  const Signals signals_;
  const Descriptor last_words_;
  const Report report_;  // may be none
  const unsigned interface_;

  std::atomic<bool> is_joining_again_{false};
  std::atomic<bool> is_watching_{true};  // otherwise the next switch is not joined
  std::mutex connection_mutex_;          // the following; held while the switch is asked
  SwitchConnection connection_;

  std::mutex mutex_;  // the following; held for a moment
  std::map<BindingKey, Binding> bindings_;
  LentPorts lent_;
  std::vector<HostRequest> releases_;  // that the switch has not got yet

  std::thread watcher_;
};

}  // namespace urnic::drivers
