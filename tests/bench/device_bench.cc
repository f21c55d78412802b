// What idle queue pairs cost a busy one: a device that talks to itself, alone and among ten thousand connections.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "drivers/loopback/loopback_port.h"
#include "nic/completion_queue.h"
#include "nic/device.h"
#include "nic/queue_pair.h"
#include "tests/bench/meter.h"

namespace urnic::bench {
namespace {

using transport::Access;
using transport::QpState;

constexpr std::size_t kBatch = 64;
constexpr transport::wire::Mac kMac{{0x02, 0, 0, 0, 0, 1}};

nic::DeviceConfig config() {
  nic::DeviceConfig config;
  config.mac = kMac;
  config.ipv4 = nic::Ipv4Interface{.address = {{10, 0, 0, 1}}};
  config.progress = nic::ProgressMode::kManual;
  return config;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "device_bench: %s\n", what);
  std::exit(1);
}

class Scene {
 public:
  Scene()
      : device_(config(), clock_, [](const nic::PortSpec&, std::uint16_t mtu) {
          return Result<std::unique_ptr<nic::PacketPort>, Error>(
              std::make_unique<drivers::LoopbackPort>(kMac, nullptr, mtu + 14u));
        }) {
    pd_ = std::move(device_.allocate_pd().value());
    cq_ = std::move(device_.create_cq(1024, nullptr, nullptr).value());
    region_ = device_
                  .register_memory(*pd_, memory_.data(), memory_.size(),
                                   reinterpret_cast<std::uint64_t>(memory_.data()),
                                   Access::kLocalWrite | Access::kRemoteWrite)
                  .value();
  }
  ~Scene() {
    for (auto& qp : queue_pairs_) device_.destroy_qp(std::move(qp));
    if (!device_.destroy_cq(cq_)) fail("a queue pair is left");
  }

  /// Two queue pairs, connected to each other.
  void add_pair() {
    std::array<nic::QueuePair*, 2> pair{};
    for (auto& qp : pair) {
      auto made = device_.create_qp({.capabilities = {.max_send_wr = kBatch, .max_receive_wr = 1, .max_send_sge = 1},
                                     .pd = pd_.get(),
                                     .send_queue = cq_.get(),
                                     .receive_queue = cq_.get()});
      if (!made) fail(made.error().message.c_str());
      qp = queue_pairs_.emplace_back(std::move(made.value())).get();
    }
    for (std::size_t i : {0u, 1u}) {
      nic::QueuePair& qp = *pair[i];
      const bool ok = qp.modify({.state = QpState::kInit,
                                 .access = Access::kRemoteWrite,
                                 .pkey_index = std::uint16_t{0},
                                 .port = std::uint8_t{1}}) &&
                      qp.modify({.state = QpState::kReadyToReceive,
                                 .address = nic::AddressVector{.destination = *device_.gids().at(1), .source_gid_index = 1},
                                 .path_mtu = transport::PathMtu::k1024,
                                 .destination_qp = pair[1 - i]->number(),
                                 .receive_psn = transport::Psn(1),
                                 .max_responder_resources = std::uint8_t{1},
                                 .min_rnr_timer = std::uint8_t{12}}) &&
                      qp.modify({.state = QpState::kReadyToSend,
                                 .send_psn = transport::Psn(1),
                                 .max_reads_in_flight = std::uint8_t{1},
                                 .ack_timeout = std::uint8_t{14},
                                 .retry_count = std::uint8_t{7},
                                 .rnr_retry = std::uint8_t{7}});
      if (!ok) fail("a queue pair cannot be connected");
    }
  }

  /// A batch of 64-byte WRITEs on the first pair, until all are complete.
  void write_batch() {
    {
      nic::QueuePair::SendBatch batch(*queue_pairs_[0]);
      const std::array sges{
          transport::Sge{.address = region_.address, .length = 64, .lkey = transport::Lkey{region_.key}}};
      for (std::size_t i = 0; i < kBatch; ++i) {
        const auto status = batch.post({.operation = transport::SendOperation::kWrite,
                                        .signaled = true,
                                        .remote_address = region_.address + 1024,
                                        .rkey = transport::Rkey{region_.key}},
                                       sges);
        if (status != nic::PostStatus::kPosted) fail("a WRITE was refused");
      }
    }
    std::array<transport::Completion, kBatch> completions;
    for (std::size_t done = 0; done < kBatch;) {
      device_.progress();
      done += cq_->poll(std::span(completions).first(kBatch - done));
    }
  }

 private:
  nic::SteadyClock clock_;
  nic::Device device_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  std::unique_ptr<nic::ProtectionDomain> pd_;
  std::unique_ptr<nic::CompletionQueue> cq_;
  nic::MemoryRegion region_;
  std::vector<std::unique_ptr<nic::QueuePair>> queue_pairs_;
};

void busy_among_idle(benchmark::State& state) {
  Scene scene;
  scene.add_pair();
  for (std::int64_t i = 0; i < state.range(0); i += 2) scene.add_pair();
  scene.write_batch();  // addresses are resolved, memory is touched
  Meter meter(state);
  for ([[maybe_unused]] auto _ : state) {
    meter.measure(kBatch, [&] { scene.write_batch(); });
  }
}

BENCHMARK(busy_among_idle)->Arg(0)->Arg(10000)->UseManualTime();

}  // namespace
}  // namespace urnic::bench

BENCHMARK_MAIN();
