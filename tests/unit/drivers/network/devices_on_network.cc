#include "tests/unit/drivers/network/devices_on_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "nic/packet_port.h"

namespace urnic::network::test {

using transport::Access;
using transport::Completion;
using transport::QpState;

namespace {

constexpr std::size_t kWriteBytes = 64 * 1024;
constexpr std::size_t kWritesPosted = 4;  // of a flow
constexpr std::size_t kMaxFrameBytes = 1600;

transport::wire::Mac mac_of(std::size_t host) {
  return {{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(host + 1)}};
}
transport::wire::Ipv4Address address_of(std::size_t host) {
  return {{10, 0, 0, static_cast<std::uint8_t>(host + 1)}};
}

}  // namespace

/// Is full while the host's queue of that priority has no room for a frame, as a NIC whose link is paused.
class DevicesOnNetwork::Port final : public nic::PacketPort {
 public:
  Port(DevicesOnNetwork& world, std::size_t host) : world_(world), host_(host), room_(kMaxFrameBytes) {}

  std::size_t receive(std::span<std::span<const std::byte>> frames) override {
    auto& inbox = world_.machines_[host_].inbox;
    received_.clear();
    while (!inbox.empty() && received_.size() < frames.size()) {
      received_.push_back(std::move(inbox.front()));
      inbox.pop_front();
    }
    for (std::size_t i = 0; i < received_.size(); ++i) frames[i] = received_[i];
    return received_.size();
  }
  std::span<std::byte> reserve_to(const transport::wire::Mac&) override {
    const auto host = static_cast<HostId>(host_);
    bool has_room = true;
    for (unsigned priority = 0; priority < kPriorities; ++priority) {
      has_room = has_room && world_.network_.room(host, priority) >= kMaxFrameBytes;
    }
    return has_room ? std::span<std::byte>(room_) : std::span<std::byte>();
  }
  void commit(std::size_t length) override {
    const auto sent =
        world_.network_.send(static_cast<HostId>(host_), std::span(room_).first(length), world_.clock_.now());
    EXPECT_EQ(sent, Network::SendResult::kQueued);
  }
  void flush() override {}
  std::size_t max_frame_bytes() const override { return room_.size(); }
  Statistics statistics() const override { return {}; }
  std::string description() const override { return "host of a network"; }

 private:
  DevicesOnNetwork& world_;
  std::size_t host_;
  std::vector<std::byte> room_;
  std::vector<std::vector<std::byte>> received_;
};

DevicesOnNetwork::DevicesOnNetwork(const Topology& topology, const transport::congestion::Choice& congestion)
    : network_(topology, 1, clock_.now()), machines_(topology.hosts.size()) {
  for (std::size_t host = 0; host < machines_.size(); ++host) make_machine(host, congestion);
}

DevicesOnNetwork::~DevicesOnNetwork() {
  for (Flow& flow : flows_) {
    machines_[flow.from].device->destroy_qp(std::move(flow.requester));
    machines_[flow.to].device->destroy_qp(std::move(flow.responder));
  }
  for (Machine& machine : machines_) EXPECT_TRUE(machine.device->destroy_cq(machine.cq));
}

void DevicesOnNetwork::make_machine(std::size_t host, const transport::congestion::Choice& congestion) {
  Machine& machine = machines_[host];
  nic::DeviceConfig config;
  config.mac = mac_of(host);
  config.ipv4 = nic::Ipv4Interface{.address = address_of(host)};
  config.link_mtu = 1500;
  config.progress = nic::ProgressMode::kManual;
  config.seed = host + 1;
  config.congestion = congestion;
  network_.attach(static_cast<HostId>(host), config.mac);
  machine.memory.resize(kWriteBytes);
  machine.device = std::make_unique<nic::Device>(config, clock_, [this, host] {
    return Result<nic::OpenedPort, Error>(
        std::unique_ptr<nic::PacketPort>(std::make_unique<Port>(*this, host)));
  });
  machine.pd = std::move(machine.device->allocate_pd().value());
  machine.cq = std::move(machine.device->create_cq(256, nullptr, nullptr).value());
  machine.region = machine.device
                       ->register_memory(*machine.pd, machine.memory.data(), machine.memory.size(),
                                         reinterpret_cast<std::uint64_t>(machine.memory.data()),
                                         Access::kLocalWrite | Access::kRemoteWrite)
                       .value();
  EXPECT_TRUE(machine.device->start());
}

std::unique_ptr<nic::QueuePair> DevicesOnNetwork::make_queue_pair(std::size_t host) {
  Machine& machine = machines_[host];
  auto qp = machine.device->create_qp(
      {.capabilities = {.max_send_wr = 16, .max_receive_wr = 1, .max_send_sge = 1, .max_receive_sge = 1},
       .pd = machine.pd.get(),
       .send_queue = machine.cq.get(),
       .receive_queue = machine.cq.get(),
       .context = this});
  EXPECT_TRUE(qp);
  return std::move(qp.value());
}

void DevicesOnNetwork::connect(nic::QueuePair& qp, const nic::QueuePair& peer, std::size_t peer_host,
                               unsigned dscp) {
  const nic::AddressVector address{.destination = transport::wire::Gid::from_ipv4(address_of(peer_host)),
                                   .source_gid_index = 1,
                                   .traffic_class = static_cast<std::uint8_t>(dscp << 2)};
  EXPECT_TRUE(qp.modify({.state = QpState::kInit,
                         .access = Access::kRemoteWrite,
                         .pkey_index = std::uint16_t{0},
                         .port = std::uint8_t{1}}));
  EXPECT_TRUE(qp.modify({.state = QpState::kReadyToReceive,
                         .address = address,
                         .path_mtu = transport::PathMtu::k1024,
                         .destination_qp = peer.number(),
                         .receive_psn = transport::Psn(1),
                         .max_responder_resources = std::uint8_t{1},
                         .min_rnr_timer = std::uint8_t{12}}));
  EXPECT_TRUE(qp.modify({.state = QpState::kReadyToSend,
                         .send_psn = transport::Psn(1),
                         .max_reads_in_flight = std::uint8_t{1},
                         .ack_timeout = std::uint8_t{12},
                         .retry_count = std::uint8_t{7},
                         .rnr_retry = std::uint8_t{7}}));
}

std::size_t DevicesOnNetwork::add_flow(std::size_t from, std::size_t to, unsigned dscp) {
  flows_.push_back(
      {.from = from, .to = to, .requester = make_queue_pair(from), .responder = make_queue_pair(to)});
  const std::size_t flow = flows_.size() - 1;
  connect(*flows_[flow].requester, *flows_[flow].responder, to, dscp);
  connect(*flows_[flow].responder, *flows_[flow].requester, from, dscp);
  for (std::size_t i = 0; i < kWritesPosted; ++i) post_write(flow);
  return flow;
}

void DevicesOnNetwork::post_write(std::size_t flow) {
  Flow& it = flows_[flow];
  const Machine& from = machines_[it.from];
  const Machine& to = machines_[it.to];
  const std::array elements{transport::Sge{.address = from.region.address,
                                           .length = static_cast<std::uint32_t>(kWriteBytes),
                                           .lkey = transport::Lkey{from.region.key}}};
  const transport::SendRequest request{.wr_id = flow,
                                       .operation = transport::SendOperation::kWrite,
                                       .signaled = true,
                                       .remote_address = to.region.address,
                                       .rkey = transport::Rkey{to.region.key}};
  EXPECT_EQ(nic::QueuePair::SendBatch(*it.requester).post(request, elements), nic::PostStatus::kPosted);
  machines_[it.from].is_to_run = true;
}

void DevicesOnNetwork::deliver(HostId host, std::span<const std::byte> frame, Time) {
  Machine& machine = machines_[static_cast<std::size_t>(host)];
  machine.inbox.emplace_back(frame.begin(), frame.end());
  machine.is_to_run = true;
}

void DevicesOnNetwork::on_room(HostId host, unsigned, Time) {
  machines_[static_cast<std::size_t>(host)].is_to_run = true;
}

void DevicesOnNetwork::take_completions(std::size_t host) {
  std::array<Completion, 32> completions;
  while (const std::size_t count = machines_[host].cq->poll(completions)) {
    for (const Completion& completion : std::span(completions).first(count)) {
      EXPECT_EQ(completion.status, transport::CompletionStatus::kSuccess);
      flows_[completion.wr_id].completed_bytes += kWriteBytes;
      post_write(completion.wr_id);
    }
  }
}

void DevicesOnNetwork::progress(std::size_t host) {
  Machine& machine = machines_[host];
  while (std::exchange(machine.is_to_run, false)) {
    while (machine.device->progress()) {
    }
    take_completions(host);
  }
}

void DevicesOnNetwork::run(Duration duration) {
  const Time end = clock_.now() + duration;
  while (true) {
    network_.run_until(clock_.now(), *this);
    Time next = end;
    for (std::size_t host = 0; host < machines_.size(); ++host) {
      Machine& machine = machines_[host];
      machine.is_to_run = machine.is_to_run || machine.device->next_timeout() <= clock_.now();
      progress(host);
      next = std::min(next, std::max(machine.device->next_timeout(), clock_.now() + Duration(1)));
    }
    if (clock_.now() >= end) return;
    next = std::min(next, std::max(network_.next_event(), clock_.now()));
    clock_.advance(std::max(next - clock_.now(), Duration(0)));
  }
}

transport::congestion::BitsPerSecond DevicesOnNetwork::rate(std::size_t flow) const {
  const auto state = flows_[flow].requester->snapshot().congestion;
  return state ? state->allowance.rate : transport::congestion::kUnlimited;
}

std::uint64_t DevicesOnNetwork::counter(std::string_view name) const {
  std::uint64_t sum = 0;
  for (const Machine& machine : machines_) {
    for (const auto& [known, value] : machine.device->all_counters()) sum += known == name ? value : 0;
  }
  return sum;
}

}  // namespace urnic::network::test
