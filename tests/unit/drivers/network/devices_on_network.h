// DevicesOnNetwork: devices whose ports are hosts of a network, in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/network/network.h"
#include "nic/device.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "tests/unit/nic/manual_clock.h"
#include "transport/congestion/choice.h"

namespace urnic::network::test {

/// A device in manual mode on each host of the topology, 10.0.0.1 and on, with one region. Flows are queue pairs that
/// write without end. Methods fail the test when a device refuses.
class DevicesOnNetwork final : public Sink {
 public:
  DevicesOnNetwork(const Topology& topology, const transport::congestion::Choice& congestion);
  ~DevicesOnNetwork() override;

  /// A reliable connection on which the first host writes to the second one, always with some WRITEs posted.
  /// Returns its number. `dscp` is of both directions.
  std::size_t add_flow(std::size_t from, std::size_t to, unsigned dscp);

  /// Lets time pass, event by event.
  void run(Duration duration);

  /// Bytes whose WRITEs have completed.
  std::uint64_t completed_bytes(std::size_t flow) const { return flows_[flow].completed_bytes; }
  /// What its controller allows now.
  transport::congestion::BitsPerSecond rate(std::size_t flow) const;
  /// Of all devices together, by its name in Device::all_counters().
  std::uint64_t counter(std::string_view name) const;
  Network& network() { return network_; }

  void deliver(HostId host, std::span<const std::byte> frame, Time time) override;
  void on_room(HostId host, unsigned priority, Time time) override;

 private:
  class Port;
  struct Machine {
    std::vector<std::byte> memory;
    std::deque<std::vector<std::byte>> inbox;
    std::unique_ptr<nic::Device> device;
    std::unique_ptr<nic::ProtectionDomain> pd;
    std::unique_ptr<nic::CompletionQueue> cq;
    nic::MemoryRegion region{};
    bool is_to_run = true;
  };
  struct Flow {
    std::size_t from = 0;
    std::size_t to = 0;
    std::unique_ptr<nic::QueuePair> requester;
    std::unique_ptr<nic::QueuePair> responder;
    std::uint64_t completed_bytes = 0;
  };

  void make_machine(std::size_t host, const transport::congestion::Choice& congestion);
  std::unique_ptr<nic::QueuePair> make_queue_pair(std::size_t host);
  void connect(nic::QueuePair& qp, const nic::QueuePair& peer, std::size_t peer_host, unsigned dscp);
  void post_write(std::size_t flow);
  void progress(std::size_t host);
  void take_completions(std::size_t host);

  nic::ManualClock clock_;
  Network network_;
  std::vector<Machine> machines_;
  std::vector<Flow> flows_;
};

}  // namespace urnic::network::test
