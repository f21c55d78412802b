// CompletionQueueTest: a completion queue whose completions, rounds and time are in the test's hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nic/completion_queue.h"
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
  void publish() { pair.a().device().progress(); }
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

/// Completions that wait for acknowledgements of queue pairs.
class CompletionQueueHoldTest : public CompletionQueueTest {
 protected:
  ~CompletionQueueHoldTest() override {
    queue->forget(first);
    queue->forget(second);
  }

  void complete_owing(std::uint64_t wr_id, AcknowledgementDebt& debt, bool solicited = false) {
    const std::uint32_t before = queue->added();
    complete(wr_id, solicited);
    queue->hold(before, debt, pair.clock.now());
  }

  AcknowledgementDebt first;
  AcknowledgementDebt second;
};

}  // namespace urnic::nic
