// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/fuzz/device_rig.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "nic/path/multicast_groups.h"
#include "tools/simulation/kernel/virtual_port.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/packet.h"

namespace urnic::test {
namespace {

using namespace nic;
using transport::Access;
using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;
using transport::QpNumber;
using transport::QpState;
using transport::Sge;
using transport::wire::Gid;
using transport::wire::Mac;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMaxFrameBytes = 4214;
constexpr std::size_t kMaxRunBytes = 8 * 1024;
constexpr std::size_t kMostFramesPerRound = 512;
constexpr int kMostRoundsPerStep = 16;

/// The default one, with RoCE v1 in the GID table.
const Personality& personality_of_hosts() {
  static const Personality paired = []() {
    Personality personality = personality_of(Column::kDefault);
    personality.gid_entries = GidEntries::kPairs;
    return personality;
  }();
  return paired;
}

DeviceConfig config_of_host(std::uint8_t number) {
  DeviceConfig config;
  config.personality = &personality_of_hosts();
  config.mac = Mac{{2, 0, 0, 0, 0, number}};
  config.ipv4 = Ipv4Interface{.address = {{10, 9, 0, number}}};
  config.ipv6 = Ipv6Interface{.address = {{0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}}};
  config.progress = ProgressMode::kManual;
  config.seed = 1;
  return config;
}

/// Ports let no longer ones through.
bool is_possible(std::size_t frame_bytes, transport::PathMtu run_mtu) {
  return frame_bytes <= (run_mtu == transport::PathMtu{} ? kMaxFrameBytes : kMaxRunBytes);
}

void require_well_formed(std::span<const std::byte> bytes) {
  const auto frame = transport::wire::parse_frame(bytes);
  require(frame.has_value(), "what is sent is a frame");
  require(frame.value().icrc_ok(), "what is sent has the right ICRC");
  require(transport::wire::parse_packet(frame.value().ib).has_value(), "what is sent is a packet");
}

/// Whether it is a report of the rig's multicast group, whose checksum must then be right.
bool is_multicast_report(std::span<const std::byte> bytes) {
  using namespace transport::wire;
  const auto ethernet = Ethernet::parse(bytes);
  if (!ethernet || ethernet.value().ether_type != EtherType::kIpv4) return false;
  const auto packet = bytes.subspan(ethernet.value().header_bytes());
  const auto ip = Ipv4::parse(packet);
  if (!ip || ip.value().protocol != IpProtocol::kIgmp) return false;
  InternetChecksum checksum;
  checksum.add(packet.subspan(ip.value().header_bytes()));
  require(checksum.is_right(), "what is sent has the right IGMP checksum");
  return true;
}

/// Answers ARP and neighbor discovery as the peer, and swallows everything else.
class FuzzPort final : public kernel::VirtualPort {
 public:
  FuzzPort(std::shared_ptr<FuzzWire> wire, const Clock& clock)
      : VirtualPort(wire->to_device, kMaxFrameBytes),
        wire_(std::move(wire)),
        clock_(clock),
        peer_(config_of_host(2), peer_gids_) {}

  Room reserve_to(const transport::wire::Mac&) override { return wire_->room > 0 ? Room(room()) : Room(); }
  void commit(std::size_t length) override {
    require(wire_->room > 0 && length >= 14 && length <= kMaxFrameBytes, "only reserved room is committed");
    --wire_->room;
    ++wire_->taken;
    VirtualPort::commit(length);
  }
  void flush() override {
    VirtualPort::flush();
    Bytes answer(NeighborCache::kMaxFrameBytes);
    while (const std::size_t size = peer_.poll_transmit(answer, clock_.now())) {
      wire_->put(std::span(answer).first(size));
    }
  }

 private:
  void send(kernel::Frame frame) override {
    if (peer_.on_frame(frame.bytes, clock_.now()) || is_multicast_report(frame.bytes)) return;
    require_well_formed(frame.bytes);
  }

  std::shared_ptr<FuzzWire> wire_;
  const Clock& clock_;
  const GidTable peer_gids_{config_of_host(2)};
  NeighborCache peer_;
};

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

DeviceRig::DeviceRig()
    : wire_(std::make_shared<FuzzWire>()), arena_(kGuardBytes + kRegions * (kRegionBytes + kGuardBytes)) {
  for (std::size_t i = 0; i < arena_.size(); ++i) arena_[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  original_ = arena_;
  device_ = std::make_unique<Device>(config_of_host(1), clock_, [this]() {
    return Result<OpenedPort, Error>(std::make_unique<FuzzPort>(wire_, clock_));
  });
  pd_ = std::move(device_->allocate_pd().value());
  cq_ = std::move(device_->create_cq(2048, nullptr, nullptr).value());
  register_regions();
  xrc_domain_ = std::move(device_->open_xrc_domain().value());
  for (std::size_t queue = 0; queue < kSharedQueues; ++queue) make_shared_queue(queue);
  for (const QueuePairKind& kind : kKinds) add_connection(kind);
  for (std::size_t index = 0; index < addresses_.size(); ++index) renew_address(index);
}

void DeviceRig::register_regions() {
  const std::array<Access, kRegions> access{Access::kLocalWrite | kEverything | Access::kWindowBind,
                                            Access::kLocalWrite, Access::kRemoteRead};
  for (const Region region : {kShared, kOwn, kConstant}) {
    const auto registered =
        device_->register_memory(*pd_, memory_of(region), kRegionBytes, address_of(region), access[region]);
    require(registered.has_value(), "memory can be registered");
    regions_[region] = registered.value();
  }
  const auto again = device_->register_memory(*pd_, memory_of(kShared), kRegionBytes, address_of(kShared),
                                              Access::kLocalWrite | kEverything);
  require(again.has_value(), "memory can be registered twice");
  second_key_ = again.value().key;
  for (std::size_t index = 0; index < windows_.size(); ++index) {
    const auto key = device_->allocate_window(*pd_, index == 0 ? WindowType::kType1 : WindowType::kType2);
    require(key.has_value(), "a window can be allocated");
    windows_[index] = key.value();
  }
}

void DeviceRig::make_shared_queue(std::size_t queue) {
  const bool is_xrc = queue > 0;
  auto srq = device_->create_srq({.pd = pd_.get(),
                                  .max_wr = kSharedReceives,
                                  .max_sge = 1,
                                  .xrc_domain = is_xrc ? xrc_domain_.get() : nullptr,
                                  .completions = is_xrc ? cq_.get() : nullptr});
  require(srq.has_value(), "a shared receive queue can be made");
  shared_queues_[queue] = std::move(srq.value());
}

std::unique_ptr<QueuePair> DeviceRig::make_queue_pair(const QueuePairKind& kind) {
  const bool is_target = kind.type == QpType::kXrcTarget;
  const bool receives = has_receive_queue(kind.type);
  auto qp =
      device_->create_qp({.type = kind.type,
                          .capabilities = {.max_send_wr = 64,
                                           .max_receive_wr = receives && !kind.shares_receives ? 64u : 0u,
                                           .max_send_sge = 2,
                                           .max_receive_sge = 2,
                                           .max_inline_data = 256},
                          .pd = is_target ? nullptr : pd_.get(),
                          .send_queue = is_target ? nullptr : cq_.get(),
                          .receive_queue = receives ? cq_.get() : nullptr,
                          .srq = kind.shares_receives ? shared_queues_[0].get() : nullptr,
                          .xrc_domain = is_target ? xrc_domain_.get() : nullptr});
  require(qp.has_value(), "a queue pair can be made");
  return std::move(qp.value());
}

void DeviceRig::add_connection(const QueuePairKind& kind) {
  const Gid own = *device_->gids().address_at(kind.address);
  Gid peer = own;
  peer.octets.back() = 2;
  Connection connection{
      .kind = kind,
      .qp = make_queue_pair(kind),
      .peer = {.destination = peer, .source_gid_index = *device_->gids().index_of(own, kind.encapsulation)},
      .from_peer = {}};
  lead_to(connection);
  connect(connection);
  queue_pairs_.push_back(std::move(connection));
}

void DeviceRig::lead_to(Connection& connection) {
  const QueuePairKind& kind = connection.kind;
  connection.from_peer = Path::make({.destination = *device_->gids().address_at(kind.address)},
                                    {connection.peer.destination, kind.encapsulation},
                                    {config_of_host(2).mac}, kPeerQp, connection.qp->number());
}

void DeviceRig::connect(Connection& connection) {
  for (const QpState state : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    require(connection.qp->modify(attributes_for(connection, state)).has_value(),
            "a queue pair can be connected");
  }
}

/// Everything that was posted comes to an end when the queue pairs do.
DeviceRig::~DeviceRig() {
  wire_->room = ~std::size_t{0};
  for (Connection& connection : queue_pairs_) {
    if (connection.qp->query().state == QpState::kReset) continue;
    require(connection.qp->modify({.state = QpState::kError}).has_value(), "a queue pair can be given up");
  }
  for (int i = 0; i < 8; ++i) {
    pass(std::chrono::milliseconds(10));  // completions that were held back for an acknowledgement
    run();
  }
  for (const auto& [wr_id, work] : outstanding_) {
    require(work.may_vanish || !work.qp, "everything posted completes in the end");
  }
  for (Connection& connection : queue_pairs_) device_->destroy_qp(std::move(connection.qp));
  for (const std::uint32_t window : windows_) {
    require(device_->deallocate_window(*pd_, window).has_value(), "a window can be given back");
  }
  for (const auto address : addresses_) {
    require(device_->destroy_address_handle(*pd_, address).has_value(), "an address handle can be destroyed");
  }
  for (const std::uint32_t key :
       {second_key_, regions_[kShared].key, regions_[kOwn].key, regions_[kConstant].key}) {
    require(device_->deregister_memory(*pd_, key).has_value(), "memory can be deregistered");
  }
  for (auto& queue : shared_queues_) {
    require(device_->destroy_srq(queue).has_value(), "an unused shared receive queue can be destroyed");
  }
  require(device_->close_xrc_domain(xrc_domain_).has_value(), "an unused XRC domain can be closed");
  require(device_->destroy_cq(cq_).has_value(), "an unused completion queue can be destroyed");
  device_.reset();
  check_memory();
}

void DeviceRig::deliver(std::span<const std::byte> frame, transport::PathMtu run_mtu) {
  if (is_possible(frame.size(), run_mtu)) wire_->put(frame, run_mtu);
}

void DeviceRig::deliver_packet(std::size_t qp_index, std::span<const std::byte> packet, bool to_group,
                               transport::PathMtu run_mtu) {
  constexpr std::size_t kBthBytes = 12;
  Path path = queue_pairs_[qp_index].from_peer;
  if (to_group) {
    Gid peer = *device_->gids().address_at(GidTable::kIpv4);
    peer.octets.back() = 2;
    path = Path::make({.destination = group()}, {peer}, {config_of_host(2).mac}, kPeerQp, QpNumber{0xffffff});
  }
  Bytes frame(path.header_bytes() + packet.size() + Path::kIcrcBytes);
  if (packet.size() < kBthBytes || !is_possible(frame.size(), run_mtu)) return;
  std::copy(packet.begin(), packet.end(), frame.begin() + static_cast<std::ptrdiff_t>(path.header_bytes()));
  path.encapsulate(frame, {.size = static_cast<std::uint32_t>(packet.size())},
                   to_group ? multicast_mac_of(group()) : config_of_host(1).mac);
  wire_->put(frame, run_mtu);
}

std::uint64_t DeviceRig::note_work(const Work& work) {
  outstanding_[next_wr_id_] = work;
  return next_wr_id_++;
}

void DeviceRig::run() {
  bool worked = true;
  for (int i = 0; worked && i < kMostRoundsPerStep; ++i) {
    const std::size_t taken = wire_->taken;
    worked = device_->progress();
    require(wire_->taken - taken <= kMostFramesPerRound, "a round sends a bounded number of frames");
    poll();
  }
  check_memory();
}

void DeviceRig::poll() {
  std::array<Completion, 64> completions;
  while (const std::size_t count = cq_->poll(completions)) {
    for (const Completion& completion : std::span(completions).first(count)) {
      const auto work = outstanding_.find(completion.wr_id);
      require(work != outstanding_.end(), "only what was posted completes, and once");
      check(completion, work->second);
      outstanding_.erase(work);
    }
  }
  require(!cq_->has_overrun(), "there are no more completions than work requests");
}

void DeviceRig::check(const Completion& completion, const Work& work) const {
  require(!work.qp || completion.qp_number == *work.qp, "a completion names its queue pair");
  require(completion.status <= CompletionStatus::kRnrRetryExceeded, "a completion has a status");
  if (completion.status != CompletionStatus::kSuccess) return;
  if (is_receive(work.opcode)) {
    require(is_receive(completion.opcode), "a receive completes as a receive");
    require(completion.opcode == CompletionOpcode::kReceiveRdmaWithImmediate ||
                completion.byte_length <= work.length,
            "no message is longer than its buffer");
  } else {
    require(completion.opcode == work.opcode, "a completion is of the kind that was posted");
  }
}

void DeviceRig::check_memory() const {
  const auto same = [this](std::size_t from, std::size_t size) {
    const auto begin = static_cast<std::ptrdiff_t>(from);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    return std::equal(arena_.begin() + begin, arena_.begin() + end, original_.begin() + begin);
  };
  constexpr std::size_t kStride = kRegionBytes + kGuardBytes;
  for (std::size_t guard = 0; guard <= kRegions; ++guard) {
    require(same(guard * kStride, kGuardBytes), "memory outside of the regions does not change");
  }
  require(same(kConstant * kStride + kGuardBytes, kRegionBytes),
          "memory that no request may write does not change");
}

}  // namespace urnic::test
