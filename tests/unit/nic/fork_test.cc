// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The child of a fork inherits a device that is not its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "nic/engine/engine.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

/// Runs `check` in a child and says whether it was true there. A child that waits for a lock is ended by its
/// alarm.
template <typename Check>
bool is_true_in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ForkTest : public testing::Test {
 protected:
  ForkTest() { pair.connect(); }

  DevicePair pair;
};

TEST_F(ForkTest, MakesEveryCallFailInTheChildWithoutTouchingALock) {
  // As if other threads were in the middle of something when the program forked.
  const QueuePair::SendBatch send_queue_is_busy(pair.a().qp());
  const QueuePair::ReceiveBatch receive_queue_is_busy(pair.a().qp());
  const std::lock_guard engine_is_busy(pair.a().device().engine());
  EXPECT_TRUE(is_true_in_child([&] {
    Host& host = pair.a();
    Device& device = host.device();
    device.abandon_after_fork();
    const auto is_eio = [](const auto& result) { return !result && result.error().code == EIO; };
    int data = 0;
    std::array<transport::Completion, 4> completions;
    host.cq().request_notification(false);
    device.linger();
    return is_eio(device.start()) && is_eio(device.allocate_pd()) &&
           is_eio(device.register_memory(host.pd(), &data, 4, 0, transport::Access::kNone)) &&
           is_eio(device.deregister_memory(host.pd(), host.region().key)) &&
           is_eio(device.create_cq(1, nullptr, nullptr)) &&
           is_eio(
               device.create_qp({.pd = &host.pd(), .send_queue = &host.cq(), .receive_queue = &host.cq()})) &&
           is_eio(host.qp().modify({.state = transport::QpState::kError})) &&
           QueuePair::SendBatch(host.qp()).post({}, {}) == PostStatus::kAbandoned &&
           QueuePair::SendBatch(host.qp()).post_inline({}, {}) == PostStatus::kAbandoned &&
           QueuePair::ReceiveBatch(host.qp()).post({}, {}) == PostStatus::kAbandoned &&
           host.cq().poll(completions) == 0 && !device.progress() &&
           device.next_timeout() == transport::kNever && !device.all_counters().empty() &&
           host.qp().query().state == transport::QpState::kReadyToSend;
  }));
}

TEST_F(ForkTest, LetsTheChildDestroyItsCopiesWithoutAWordToThePeer) {
  const std::size_t sent_before = pair.wire.sent_by(0).size();
  EXPECT_TRUE(is_true_in_child([&] {
    pair.a().device().abandon_after_fork();
    pair.a().destroy_queue_pair();
    return pair.wire.sent_by(0).size() == sent_before;
  }));
}

TEST_F(ForkTest, LeavesTheParentAsItWas) {
  EXPECT_TRUE(is_true_in_child([&] {
    pair.a().device().abandon_after_fork();
    return true;
  }));
  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(1, 0, 10);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

}  // namespace
}  // namespace urnic::nic
