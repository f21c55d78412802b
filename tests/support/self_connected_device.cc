#include "tests/support/self_connected_device.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "drivers/loopback/loopback_port.h"
#include "tools/simulation/kernel/connect.h"

namespace urnic::test {

using nic::QpType;
using transport::Access;

namespace {

constexpr transport::wire::Mac kMac{{0x02, 0, 0, 0, 0, 1}};
constexpr std::size_t kEthernetBytes = 14;
constexpr Access kEverything =
    Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;

nic::DeviceConfig config() {
  nic::DeviceConfig config;
  config.mac = kMac;
  config.ipv4 = nic::Ipv4Interface{.address = {{10, 0, 0, 1}}};
  config.progress = nic::ProgressMode::kManual;
  return config;
}

void must(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "self-connected device: %s\n", what);
  std::abort();
}

}  // namespace

SelfConnectedDevice::SelfConnectedDevice()
    : device_(config(), clock_, [] {
        return Result<nic::OpenedPort, Error>(std::make_unique<drivers::LoopbackPort>(
            kMac, nullptr, nic::DeviceConfig().link_mtu + kEthernetBytes));
      }) {
  pd_ = std::move(device_.allocate_pd().value());
  cq_ = std::move(device_.create_cq(1024, nullptr, nullptr).value());
  region_ = device_
                .register_memory(*pd_, memory_.data(), memory_.size(),
                                 reinterpret_cast<std::uint64_t>(memory_.data()), kEverything)
                .value();
  self_ = device_.create_address_handle(*pd_, {.destination = *device_.gids().at(1), .source_gid_index = 1})
              .value();
}

SelfConnectedDevice::~SelfConnectedDevice() {
  for (auto& qp : queue_pairs_) device_.destroy_qp(std::move(qp));
  must(device_.destroy_cq(cq_).has_value(), "a queue pair is left");
}

void SelfConnectedDevice::add_pair(QpType type) {
  std::array<nic::QueuePair*, 2> pair{};
  for (auto& qp : pair) {
    auto made = device_.create_qp({.type = type,
                                   .capabilities = {.max_send_wr = kQueueDepth,
                                                    .max_receive_wr = kQueueDepth,
                                                    .max_send_sge = 1,
                                                    .max_receive_sge = 1},
                                   .pd = pd_.get(),
                                   .send_queue = cq_.get(),
                                   .receive_queue = cq_.get()});
    must(made.has_value(), "no queue pair");
    qp = queue_pairs_.emplace_back(std::move(made.value())).get();
  }
  for (std::size_t i : {0u, 1u}) {
    const auto connected =
        kernel::connect(*pair[i], {.address = {.destination = *device_.gids().at(1), .source_gid_index = 1},
                                   .peer_qp = pair[1 - i]->number(),
                                   .qkey = kQkey});
    must(connected.has_value(), connected ? "" : connected.error().message.c_str());
  }
}

std::array<transport::Sge, 1> SelfConnectedDevice::elements(std::uint32_t length) const {
  return {transport::Sge{.address = region_.address, .length = length, .lkey = transport::Lkey{region_.key}}};
}

void SelfConnectedDevice::post_receives(std::size_t index, std::size_t count, std::uint32_t length) {
  nic::QueuePair::ReceiveBatch batch(*queue_pairs_[index]);
  for (std::size_t i = 0; i < count; ++i) {
    must(batch.post({}, elements(length)) == nic::PostStatus::kPosted, "a receive was refused");
  }
}

void SelfConnectedDevice::run(std::size_t index, const transport::SendRequest& request, std::uint32_t length,
                              std::size_t count, std::size_t completions) {
  {
    nic::QueuePair::SendBatch batch(*queue_pairs_[index]);
    for (std::size_t i = 0; i < count; ++i) {
      must(batch.post(request, elements(length)) == nic::PostStatus::kPosted, "a work request was refused");
    }
  }
  std::array<transport::Completion, kQueueDepth> polled;
  for (std::size_t done = 0; done < completions;) {
    device_.progress();
    const std::size_t now = cq_->poll(polled);
    for (std::size_t i = 0; i < now; ++i) {
      must(polled[i].status == transport::CompletionStatus::kSuccess, "a work request failed");
    }
    done += now;
  }
}

}  // namespace urnic::test
