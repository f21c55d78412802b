// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionQueueTest: a completion queue whose completions, rounds and time are in the test's hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nic/engine/engine.h"
#include "nic/queues/completion_queue.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {

/// A queue of four beside a device that has nothing to do with it; its rounds publish.
class CompletionQueueTest : public testing::Test {
 protected:
  CompletionQueueTest() { fcntl(channel.fd(), F_SETFL, O_NONBLOCK); }
  ~CompletionQueueTest() override { EXPECT_TRUE(pair.a().device().destroy_cq(queue)); }

  void complete(std::uint64_t wr_id, bool solicited = false) {
    queue->complete({.wr_id = wr_id, .solicited = solicited});
  }
  static constexpr transport::QpNumber kDestroyed{1};
  static constexpr transport::QpNumber kOther{2};
  void complete_of(transport::QpNumber qp, std::uint64_t wr_id, bool solicited = false) {
    queue->complete({.wr_id = wr_id, .solicited = solicited, .qp_number = qp});
  }
  void publish() { pair.a().device().progress(); }
  /// As a round does, while other threads use the queue.
  void complete_in_round(std::uint64_t wr_id) {
    Engine& engine = pair.a().device().engine();
    const std::lock_guard guard(engine);
    complete(wr_id);
    engine.pipeline().run(pair.clock.now());
  }
  std::vector<std::uint64_t> poll(std::size_t at_most = 100) {
    std::vector<transport::Completion> completions(at_most);
    completions.resize(queue->poll(completions));
    std::vector<std::uint64_t> ids;
    for (const transport::Completion& completion : completions) ids.push_back(completion.wr_id);
    return ids;
  }
  bool has_event() { return channel.wait().has_value(); }

  DevicePair pair;
  CompletionChannel channel;
  std::unique_ptr<CompletionQueue> queue = std::move(pair.a().device().create_cq(4, &channel, this).value());
};

}  // namespace urnic::nic
