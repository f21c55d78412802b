// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/self_connected_device.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "drivers/loopback/loopback_port.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/kernel/require.h"

namespace urnic::test {

using nic::QpType;

namespace {

constexpr std::size_t kEthernetBytes = 14;

void must(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "self-connected device: %s\n", what);
  std::abort();
}

}  // namespace

SelfConnectedDevice::SelfConnectedDevice()
    : host_(kernel::config_of(0), clock_,
            [] {
              return Result<nic::OpenedPort, Error>(std::make_unique<drivers::LoopbackPort>(
                  kernel::mac_of(0), nullptr, nic::DeviceConfig().link_mtu + kEthernetBytes));
            },
            {.memory = memory_}) {
  self_ = kernel::require(device().create_address_handle(host_.pd(), host_.address()));
}

SelfConnectedDevice::~SelfConnectedDevice() {
  for (auto& qp : queue_pairs_) device().destroy_qp(std::move(qp));
  must(host_.close().has_value(), "a queue pair is left");
}

void SelfConnectedDevice::add_pair(QpType type) {
  std::array<nic::QueuePair*, 2> pair{};
  for (auto& qp : pair) {
    qp = queue_pairs_
             .emplace_back(host_.create_qp({.max_send_wr = kQueueDepth,
                                            .max_receive_wr = kQueueDepth,
                                            .max_send_sge = 1,
                                            .max_receive_sge = 1},
                                           type))
             .get();
  }
  for (std::size_t i : {0u, 1u}) {
    kernel::require(kernel::connect(
        *pair[i], {.address = host_.address(), .peer_qp = pair[1 - i]->number(), .qkey = kQkey}));
  }
}

std::array<transport::Sge, 1> SelfConnectedDevice::elements(std::uint32_t length) const {
  return {host_.sge(0, length)};
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
    device().progress();
    const std::size_t now = host_.cq().poll(polled);
    for (std::size_t i = 0; i < now; ++i) {
      must(polled[i].status == transport::CompletionStatus::kSuccess, "a work request failed");
    }
    done += now;
  }
}

}  // namespace urnic::test
