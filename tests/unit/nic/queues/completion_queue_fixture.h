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

/// A queue pair that acknowledges one packet after the other.
class FakeResponder {
 public:
  explicit FakeResponder(std::uint32_t qp) : qp_{qp} { sent_.start(transport::Psn(0)); }

  transport::QpNumber qp() const { return qp_; }
  /// One more packet came that asked for an acknowledgement.
  transport::AwaitedAck receive(transport::Time now) {
    return {.sent = &sent_, .psn = transport::Psn(received_++), .since = now};
  }
  /// Acknowledges all that came, or all up to `psn`.
  void acknowledge() { acknowledge(received_ - 1); }
  void acknowledge(std::uint32_t psn) { sent_.note(transport::Psn(psn)); }

 private:
  transport::QpNumber qp_;
  transport::SentAcks sent_;
  std::uint32_t received_ = 0;
};

/// Completions that wait for acknowledgements of queue pairs.
class CompletionQueueHoldTest : public CompletionQueueTest {
 protected:
  void complete_with_pending_ack(std::uint64_t wr_id, FakeResponder& responder, bool solicited = false) {
    queue->complete_after(responder.receive(pair.clock.now()),
                          {.wr_id = wr_id, .solicited = solicited, .qp_number = responder.qp()});
  }

  FakeResponder first{1};
  FakeResponder second{2};
};

}  // namespace urnic::nic
