// Membership: a process's part in the NIC of its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/host/switch_connection.h"
#include "drivers/udp/socket_exchange.h"
#include "nic/number_share.h"
#include "nic/rdma_cm/shared_host.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The connection to the host's switch, which gives each process that joins it sockets and a share of the numbers. The
/// share is this process's as long as it lives, whatever descriptors its children inherit.
///
/// A thread watches the switch. When that ends before the process, the thread has the port give back its sockets, as those
/// of the next switch must be the first ones, joins that, or starts it, with the same share, and takes the same ports
/// of rdma_cm. Until then packets are lost, as on any link that is down for a moment.
class Membership final : public nic::rdma_cm::SharedHost {
 public:
  /// Joins; starts `switch_program` where no switch runs. Waits ten seconds at most. EADDRINUSE: who may have RoCE's
  /// port, and the remedy; EUSERS: 255 processes are there already; otherwise the system's error.
  static Result<std::unique_ptr<Membership>, Error> join(const std::string& switch_program);
  ~Membership() override;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  nic::NumberShare share() const {
    return {.bits = nic::NumberShare::kHostBits, .value = static_cast<std::uint8_t>(slot_)};
  }
  /// The sockets, now and after each change.
  const std::shared_ptr<SocketExchange>& exchange() const { return exchange_; }

  Result<std::uint16_t, Error> bind(nic::rdma_cm::PortSpace space,
                                    const nic::rdma_cm::PortTable::Binding& binding) override;
  Result<void, Error> listen(nic::rdma_cm::PortSpace space, std::uint16_t port,
                             nic::rdma_cm::IdNumber id) override;
  void release(nic::rdma_cm::PortSpace space, std::uint16_t port, nic::rdma_cm::IdNumber id) override;

 private:
  using Binding = nic::rdma_cm::PortTable::Binding;
  struct Joined;

  Membership(std::string path, std::string switch_program, Joined joined, Descriptor stop);
  static Result<Joined, Error> try_to_join(const std::string& path, unsigned slot);
  Result<void, Error> start_watching();
  void watch();
  void join_again();
  void take_ports_again();
  bool is_stopped_within(std::chrono::milliseconds time) const;

  const std::string path_;
  const std::string switch_program_;
  const unsigned slot_;
  const std::shared_ptr<SocketExchange> exchange_ = std::make_shared<SocketExchange>();
  const Descriptor stop_;  // an eventfd

  std::mutex mutex_;  // the following
  SwitchConnection connection_;
  std::vector<std::pair<nic::rdma_cm::PortSpace, Binding>> bindings_;

  std::thread watcher_;
};

}  // namespace urnic::drivers
