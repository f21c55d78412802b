#include "tests/fuzz/device_rig.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "transport/wire/frame.h"
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
using transport::SendOperation;
using transport::Sge;
using transport::wire::Gid;
using transport::wire::Mac;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMaxFrameBytes = 4214;
constexpr std::size_t kMostFramesPerRound = 512;
constexpr int kMostRoundsPerStep = 16;
constexpr QpNumber kPeerQp{0x123456};

DeviceConfig config_of_host(std::uint8_t number) {
  DeviceConfig config;
  config.mac = Mac{{2, 0, 0, 0, 0, number}};
  config.ipv4 = Ipv4Interface{.address = {{10, 9, 0, number}}};
  config.ipv6 = Ipv6Interface{.address = {{0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}}};
  config.progress = ProgressMode::kManual;
  config.seed = 1;
  return config;
}

void require_well_formed(std::span<const std::byte> bytes) {
  const auto frame = transport::wire::parse_frame(bytes);
  require(frame.has_value(), "what is sent is a frame");
  require(frame.value().icrc_ok(), "what is sent has the right ICRC");
  require(transport::wire::parse_packet(frame.value().ib).has_value(), "what is sent is a packet");
}

/// Answers ARP and neighbour discovery as the peer, and swallows everything else.
class FuzzPort final : public PacketPort {
 public:
  FuzzPort(std::shared_ptr<FuzzWire> wire, const Clock& clock)
      : wire_(std::move(wire)), clock_(clock), peer_(config_of_host(2), GidTable(config_of_host(2))) {}

  std::size_t receive(std::span<std::span<const std::byte>> frames) override {
    given_.clear();
    while (given_.size() < frames.size() && !wire_->to_device.empty()) {
      given_.push_back(std::move(wire_->to_device.front()));
      wire_->to_device.pop_front();
    }
    std::copy(given_.begin(), given_.end(), frames.begin());
    return given_.size();
  }
  std::span<std::byte> reserve() override {
    return wire_->room > 0 ? std::span(room_) : std::span<std::byte>();
  }
  void commit(std::size_t length) override {
    require(wire_->room > 0 && length >= 14 && length <= kMaxFrameBytes, "only reserved room is committed");
    --wire_->room;
    ++wire_->taken;
    const auto frame = std::span<const std::byte>(room_).first(length);
    if (!peer_.on_frame(frame, clock_.now())) {
      require_well_formed(frame);
    }
  }
  void flush() override {
    Bytes answer(NeighborCache::kMaxFrameBytes);
    while (const std::size_t size = peer_.poll_transmit(answer, clock_.now())) {
      wire_->to_device.emplace_back(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    }
  }
  std::size_t max_frame_bytes() const override { return kMaxFrameBytes; }
  Statistics statistics() const override { return {}; }
  std::string description() const override { return "fuzzer"; }

 private:
  std::shared_ptr<FuzzWire> wire_;
  const Clock& clock_;
  NeighborCache peer_;
  Bytes room_ = Bytes(kMaxFrameBytes);
  std::vector<Bytes> given_;
};

CompletionOpcode completion_opcode(SendOperation operation) {
  switch (operation) {
    case SendOperation::kWrite:
    case SendOperation::kWriteWithImmediate:
      return CompletionOpcode::kRdmaWrite;
    case SendOperation::kRead:
      return CompletionOpcode::kRdmaRead;
    default:
      return CompletionOpcode::kSend;
  }
}

bool is_receive(CompletionOpcode opcode) {
  return opcode == CompletionOpcode::kReceive || opcode == CompletionOpcode::kReceiveRdmaWithImmediate;
}

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

DeviceRig::DeviceRig()
    : wire_(std::make_shared<FuzzWire>()), arena_(kGuardBytes + kRegions * (kRegionBytes + kGuardBytes)) {
  for (std::size_t i = 0; i < arena_.size(); ++i) {
    arena_[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  }
  original_ = arena_;
  device_ = std::make_unique<Device>(config_of_host(1), clock_, [this](const PortSpec&, std::uint16_t) {
    return Result<std::unique_ptr<PacketPort>, Error>(std::make_unique<FuzzPort>(wire_, clock_));
  });
  pd_ = std::move(device_->allocate_pd().value());
  cq_ = std::move(device_->create_cq(1024, nullptr, nullptr).value());
  register_regions();
  for (const std::size_t gid_index : {1u, 1u, 2u}) {
    add_connection(gid_index);
  }
}

void DeviceRig::register_regions() {
  const std::array<Access, kRegions> access{Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead,
                                            Access::kLocalWrite, Access::kRemoteRead};
  for (const Region region : {kShared, kOwn, kConstant}) {
    const auto registered =
        device_->register_memory(*pd_, memory_of(region), kRegionBytes, address_of(region), access[region]);
    require(registered.has_value(), "memory can be registered");
    regions_[region] = registered.value();
  }
}

void DeviceRig::add_connection(std::size_t source_gid_index) {
  auto qp = device_->create_qp({.capabilities = {.max_send_wr = 64,
                                                 .max_receive_wr = 64,
                                                 .max_send_sge = 2,
                                                 .max_receive_sge = 2,
                                                 .max_inline_data = 256},
                                .pd = pd_.get(),
                                .send_queue = cq_.get(),
                                .receive_queue = cq_.get()});
  require(qp.has_value(), "a queue pair can be made");
  Gid peer = *device_->gids().at(source_gid_index);
  peer.octets.back() = 2;
  Connection connection{
      .qp = std::move(qp.value()),
      .peer = {.destination = peer, .source_gid_index = static_cast<std::uint8_t>(source_gid_index)},
      .from_peer = {}};
  connection.from_peer = Path::make({.destination = *device_->gids().at(source_gid_index)}, peer,
                                    config_of_host(2).mac, kPeerQp, connection.qp->number());
  connect(connection);
  queue_pairs_.push_back(std::move(connection));
}

void DeviceRig::connect(Connection& connection) {
  const bool connected = connection.qp->modify({.state = QpState::kInit,
                                                .access = Access::kRemoteWrite | Access::kRemoteRead,
                                                .pkey_index = std::uint16_t{0},
                                                .port = std::uint8_t{1}}) &&
                         connection.qp->modify({.state = QpState::kReadyToReceive,
                                                .address = connection.peer,
                                                .path_mtu = transport::PathMtu::k1024,
                                                .destination_qp = kPeerQp,
                                                .receive_psn = transport::Psn(0xfffff0),  // soon around
                                                .max_responder_resources = std::uint8_t{4},
                                                .min_rnr_timer = std::uint8_t{1}}) &&
                         connection.qp->modify({.state = QpState::kReadyToSend,
                                                .send_psn = transport::Psn(0xfffff0),
                                                .max_reads_in_flight = std::uint8_t{4},
                                                .ack_timeout = std::uint8_t{10},
                                                .retry_count = std::uint8_t{2},
                                                .rnr_retry = std::uint8_t{2}});
  require(connected, "a queue pair can be connected");
}

/// Everything that was posted comes to an end when the queue pairs do.
DeviceRig::~DeviceRig() {
  wire_->room = ~std::size_t{0};
  for (Connection& connection : queue_pairs_) {
    require(connection.qp->modify({.state = QpState::kError}).has_value(), "a queue pair can be given up");
  }
  for (int i = 0; i < 8; ++i) {
    pass(std::chrono::milliseconds(10));  // completions that were held back for an acknowledgement
    run();
  }
  for (const auto& [wr_id, work] : outstanding_) {
    require(work.may_vanish, "everything posted completes in the end");
  }
  for (Connection& connection : queue_pairs_) {
    device_->destroy_qp(std::move(connection.qp));
  }
  require(device_->destroy_cq(cq_).has_value(), "an unused completion queue can be destroyed");
  device_.reset();
  check_memory();
}

void DeviceRig::deliver(std::span<const std::byte> frame) {
  if (frame.size() <= kMaxFrameBytes) {  // ports let no longer ones through
    wire_->to_device.emplace_back(frame.begin(), frame.end());
  }
}

void DeviceRig::deliver_packet(std::size_t qp_index, std::span<const std::byte> packet) {
  constexpr std::size_t kBthBytes = 12;
  Path& path = queue_pairs_[qp_index].from_peer;
  Bytes frame(path.header_bytes() + packet.size() + Path::kIcrcBytes);
  if (packet.size() < kBthBytes || frame.size() > kMaxFrameBytes) {
    return;
  }
  std::copy(packet.begin(), packet.end(), frame.begin() + static_cast<std::ptrdiff_t>(path.header_bytes()));
  path.seal(frame, packet.size(), config_of_host(1).mac);
  wire_->to_device.push_back(std::move(frame));
}

std::uint64_t DeviceRig::note_work(const Work& work) {
  outstanding_[next_wr_id_] = work;
  return next_wr_id_++;
}

void DeviceRig::post_send(std::size_t qp_index, SendOperation operation, std::uint32_t length,
                          bool is_inline) {
  const Region region = !transport::sends_data(operation) ? kOwn : kConstant;
  const std::uint64_t wr_id =
      note_work({.qp_index = qp_index, .opcode = completion_opcode(operation), .length = length});
  std::array<Sge, 1> sges{{{.address = address_of(region), .length = length, .lkey = {}}}};
  const transport::SendRequest request{.wr_id = wr_id,
                                       .operation = operation,
                                       .signaled = true,
                                       .remote_address = 0x7000,
                                       .rkey = transport::Rkey{0x7007}};
  QueuePair::SendBatch batch(qp(qp_index));
  PostStatus status;
  if (is_inline) {
    sges[0].address = reinterpret_cast<std::uintptr_t>(memory_of(region));
    status = batch.post_inline(request, sges);
  } else {
    sges[0].lkey = transport::Lkey{regions_[region].key};
    status = batch.post(request, sges);
  }
  if (status != PostStatus::kPosted) {
    outstanding_.erase(wr_id);
  }
}

void DeviceRig::post_receive(std::size_t qp_index, std::uint32_t length) {
  const std::uint64_t wr_id =
      note_work({.qp_index = qp_index, .opcode = CompletionOpcode::kReceive, .length = length});
  const std::array<Sge, 1> sges{
      {{.address = address_of(kOwn), .length = length, .lkey = transport::Lkey{regions_[kOwn].key}}}};
  if (QueuePair::ReceiveBatch(qp(qp_index)).post({.wr_id = wr_id}, sges) != PostStatus::kPosted) {
    outstanding_.erase(wr_id);
  }
}

void DeviceRig::reconnect(std::size_t qp_index) {
  for (auto& [wr_id, work] : outstanding_) {
    work.may_vanish |= work.qp_index == qp_index;
  }
  require(qp(qp_index).modify({.state = QpState::kReset}).has_value(), "a queue pair can be reset");
  connect(queue_pairs_[qp_index]);
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
  require(completion.qp_number == queue_pairs_[work.qp_index].qp->number(),
          "a completion names its queue pair");
  require(completion.status <= CompletionStatus::kRnrRetryExceeded, "a completion has a status");
  if (completion.status != CompletionStatus::kSuccess) {
    return;
  }
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
          "memory that nobody may write does not change");
}

}  // namespace urnic::test
