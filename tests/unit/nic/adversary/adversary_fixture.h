// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AdversaryTest: two devices, one of which or both have an adversary that behaves in certain ways only.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "nic/adversary/adversary.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {

class AdversaryTest : public testing::Test {
 protected:
  ~AdversaryTest() override {
    for (Host* const host : {&pair.a(), &pair.b()}) {
      for (std::size_t i = 0; i < host->queue_pairs().size(); ++i) {
        if (host->queue_pairs()[i]) host->destroy_queue_pair(i);
      }
    }
    for (std::size_t end : {0u, 1u}) {
      if (queues[end]) {
        EXPECT_TRUE(pair.hosts[end]->device().destroy_cq(queues[end]));
      }
    }
  }

  /// Both devices behave so, and nothing else is unusual. Queues come after it.
  void behave(std::initializer_list<Behavior> behaviors, double scale = 1) {
    AdversarySettings settings{.scale = scale};
    for (const Behavior behavior : behaviors) settings.behaviors.set(static_cast<std::size_t>(behavior));
    for (std::size_t end : {0u, 1u}) {
      Device& device = pair.hosts[end]->device();
      device.use(std::make_unique<Adversary>(settings, acts));
      queues[end] = std::move(device.create_cq(kCapacity, &channel, pair.hosts[end].get()).value());
    }
  }
  /// A connection whose ends complete in `queues`.
  void connect(const DevicePair::ConnectOptions& options = {}) {
    for (std::size_t end : {0u, 1u}) add_queue_pair(end);
    DevicePair::connect(pair.a(), *pair.a().queue_pairs().back(), pair.b(), *pair.b().queue_pairs().back(),
                        options);
  }
  QueuePair& add_queue_pair(std::size_t end) {
    QpCreateAttributes attributes = pair.hosts[end]->default_attributes();
    attributes.send_queue = attributes.receive_queue = queues[end].get();
    return pair.hosts[end]->add_queue_pair(attributes);
  }

  /// All that are seen, with wr_id.
  std::vector<transport::Completion> poll(std::size_t end) {
    std::vector<transport::Completion> all(kCapacity);
    all.resize(queues[end]->poll(all));
    return all;
  }
  std::vector<std::uint64_t> poll_ids(std::size_t end) {
    std::vector<std::uint64_t> ids;
    for (const transport::Completion& completion : poll(end)) ids.push_back(completion.wr_id);
    return ids;
  }

  std::span<std::byte> bytes(std::size_t end, std::size_t offset, std::size_t size) {
    return std::span(pair.hosts[end]->memory()).subspan(offset, size);
  }
  void fill(std::size_t end, std::size_t offset, std::size_t size, int value) {
    for (std::byte& byte : bytes(end, offset, size)) byte = static_cast<std::byte>(value);
  }
  bool is_filled(std::size_t end, std::size_t offset, std::size_t size, int value) {
    for (const std::byte byte : bytes(end, offset, size)) {
      if (byte != static_cast<std::byte>(value)) return false;
    }
    return true;
  }
  transport::SendRequest write_to_b(std::uint64_t wr_id, std::size_t offset) {
    return {.wr_id = wr_id,
            .operation = transport::SendOperation::kWrite,
            .signaled = true,
            .remote_address = pair.b().region().address + offset,
            .rkey = transport::Rkey{pair.b().device().rkey_of(pair.b().region().key)}};
  }

  static constexpr std::uint32_t kCapacity = 4096;

  ActLog acts;
  DevicePair pair;
  CompletionChannel channel;
  std::array<std::unique_ptr<CompletionQueue>, 2> queues;
};

}  // namespace urnic::nic
