// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/machine.h"

#include <array>
#include <utility>

#include "drivers/fault/fault_port.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/kernel/require.h"
#include "tools/simulation/kernel/virtual_port.h"
#include "transport/wire/ethernet.h"

namespace urnic::experiment {

using transport::Access;

namespace {

constexpr std::uint16_t kLinkMtu = 4200;  // a path MTU of 4096 fits (fact 41)

// Not where the memory is, which is another place in each run: it stands in packets.
constexpr std::uint64_t kRegionAddress = 0x10000000;

nic::DeviceConfig config_of(const MachineWorld& world, HostId host) {
  const network::LinkId link = network::link_of(world.network.port_of(host));
  const auto number = static_cast<std::size_t>(host);
  nic::DeviceConfig config = kernel::config_of(number);
  config.ipv4->prefix_length = 8;
  config.link_mtu = kLinkMtu;
  config.seed = world.seed * 1024 + number + 1;
  config.min_ack_timeout = Duration{};  // nothing here is late because it waits for a processor
  config.window_packets = world.workload.window_packets;
  config.recovery = world.workload.recovery;
  config.congestion = world.workload.congestion.choice;
  if (!world.workload.congestion.has_line_rate) {
    config.congestion.line_rate = world.network.topology().links[static_cast<std::size_t>(link)].rate_bps;
  }
  config.congestion_notifications = world.workload.congestion.notifications;
  return config;
}

}  // namespace

/// Is full while one of the host's queues has no room for a frame, as when its link is paused. So a frame
/// goes to its queue at once.
class Machine::Port final : public kernel::VirtualPort {
 public:
  explicit Port(Machine& machine)
      : VirtualPort(machine.inbox_, kLinkMtu + transport::wire::Ethernet::kMinBytes), machine_(machine) {}

  nic::Room reserve_to(const transport::wire::Mac&) override {
    if (machine_.world_.is_over) return room();
    for (unsigned priority = 0; priority < network::kPriorities; ++priority) {
      if (machine_.world_.network.room(machine_.number_, priority) < room().size()) return {};
    }
    return room();
  }

  void commit(std::size_t length) override {
    using SendResult = network::Network::SendResult;
    MachineWorld& world = machine_.world_;
    if (world.is_over) return;
    const auto sent = world.network.send(machine_.number_, room().first(length), world.clock.now());
    ++(sent == SendResult::kQueued ? statistics_.sent_frames : statistics_.dropped_frames);
  }

 private:
  Machine& machine_;
};

Machine::Machine(MachineWorld& world, HostId number, std::uint32_t completions)
    : world_(world),
      number_(number),
      host_(config_of(world, number), world.clock, [this] { return open_port(); },
            {.completions = completions,
             .memory = world.memory,
             .address = kRegionAddress,
             .access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead}) {
  world.network.attach(number, device().config().mac);
  kernel::require(device().start());
}

Result<nic::OpenedPort, Error> Machine::open_port() {
  std::unique_ptr<nic::PacketPort> port = std::make_unique<Port>(*this);
  const auto fault = world_.workload.faults.find(number_);
  if (fault != world_.workload.faults.end()) {
    port = std::make_unique<drivers::FaultPort>(std::move(port), fault->second, world_.clock, world_.tell);
  }
  return nic::OpenedPort(std::move(port));
}

void Machine::connect(nic::QueuePair& qp, const Machine& peer, transport::QpNumber peer_qp,
                      unsigned dscp) const {
  nic::AddressVector address = peer.host_.address();
  address.traffic_class = static_cast<std::uint8_t>(dscp << 2);
  kernel::require(kernel::connect(qp, {.address = address,
                                       .peer_qp = peer_qp,
                                       .access = Access::kRemoteWrite | Access::kRemoteRead,
                                       .path_mtu = world_.workload.path_mtu,
                                       .send_psn = transport::Psn(0),
                                       .receive_psn = transport::Psn(0),
                                       .max_reads_in_flight = 16,
                                       .min_rnr_timer = 1,
                                       .ack_timeout = world_.workload.ack_timeout,
                                       .retry_count = world_.workload.retry_count,
                                       .rnr_retry = 7,
                                       .peer_options = qp.offered_options()}));  // all hosts offer the same
}

void Machine::progress(const std::function<void(const transport::Completion&)>& take) {
  std::array<transport::Completion, 64> completions;
  bool is_moving = true;
  while (is_moving) {
    while (device().progress()) {
    }
    const std::size_t count = host_.cq().poll(completions);
    for (const transport::Completion& completion : std::span(completions).first(count)) take(completion);
    is_moving = count > 0;
  }
}

}  // namespace urnic::experiment
