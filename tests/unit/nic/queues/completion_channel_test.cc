// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/completion_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "nic/engine/engine.h"
#include "nic/queues/completion_queue.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

bool is_readable(const CompletionChannel& channel) {
  pollfd descriptor{.fd = channel.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

/// A channel with O_NONBLOCK and three queues that use it.
class CompletionChannelTest : public testing::Test {
 protected:
  CompletionChannelTest() { fcntl(channel.fd(), F_SETFL, O_NONBLOCK); }
  void make_blocking() { fcntl(channel.fd(), F_SETFL, 0); }

  DevicePair pair;
  CompletionChannel channel;
  CompletionQueue one{pair.a().device().engine(), 4, &channel, nullptr};
  CompletionQueue two{pair.a().device().engine(), 4, &channel, nullptr};
};

TEST_F(CompletionChannelTest, IsReadableExactlyWhileEventsWait) {
  EXPECT_FALSE(is_readable(channel));
  channel.notify(one);
  channel.notify(two);
  EXPECT_TRUE(is_readable(channel));
  EXPECT_TRUE(channel.wait());
  EXPECT_TRUE(is_readable(channel));
  EXPECT_TRUE(channel.wait());
  EXPECT_FALSE(is_readable(channel));
}

TEST_F(CompletionChannelTest, SaysEagainWithoutAnEventWhenItMustNotBlock) {
  const auto result = channel.wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), EAGAIN);
}

TEST_F(CompletionChannelTest, GivesTheQueuesInTheOrderOfTheirEvents) {
  channel.notify(two);
  channel.notify(one);
  EXPECT_EQ(channel.wait().value(), &two);
  EXPECT_EQ(channel.wait().value(), &one);
}

TEST_F(CompletionChannelTest, GivesAQueueAsOftenAsItWasNotified) {
  channel.notify(one);
  channel.notify(one);
  channel.notify(two);
  int ones = 0;
  for (int i = 0; i < 3; ++i) ones += channel.wait().value() == &one ? 1 : 0;
  EXPECT_EQ(ones, 2);
  EXPECT_FALSE(channel.wait());
}

TEST_F(CompletionChannelTest, ForgetsTheEventsOfADestroyedQueueAndOnlyThose) {
  channel.notify(one);
  channel.notify(two);
  channel.notify(one);
  channel.forget(one);
  EXPECT_EQ(channel.wait().value(), &two);
  EXPECT_FALSE(is_readable(channel));
  EXPECT_FALSE(channel.wait());
}

TEST_F(CompletionChannelTest, ForgetsEventsOfABlockingDescriptorWithoutBlocking) {
  make_blocking();
  channel.notify(one);
  channel.forget(one);
  channel.forget(two);
  EXPECT_FALSE(is_readable(channel));
}

TEST_F(CompletionChannelTest, WaitsUntilThereIsAnEvent) {
  make_blocking();
  CompletionQueue* got = nullptr;
  std::thread waiter([&] { got = channel.wait().value(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  channel.notify(two);
  waiter.join();
  EXPECT_EQ(got, &two);
}

TEST_F(CompletionChannelTest, LetsAWaitingThreadBeCancelled) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "cancelled threads confuse AddressSanitizer";
  make_blocking();
  pthread_t thread;
  const auto wait = [](void* to) -> void* {
    static_cast<void>(static_cast<CompletionChannel*>(to)->wait());
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, wait, &channel), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  // It holds nothing that another thread needs.
  channel.notify(one);
  EXPECT_EQ(channel.wait().value(), &one);
}

TEST_F(CompletionChannelTest, ServesSeveralWaitersWhileQueuesComeAndGo) {
  make_blocking();
  constexpr int kEvents = 2000;
  std::atomic<int> fetched{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&] {
      while (fetched.load() < kEvents) {
        if (channel.wait()) ++fetched;
      }
    });
  }
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) {
      CompletionQueue passing(pair.a().device().engine(), 4, &channel, nullptr);
      channel.notify(passing);
      channel.forget(passing);
    }
  });
  for (int i = 0; i < kEvents; ++i) channel.notify(i % 2 == 0 ? one : two);
  other.join();
  // For the waiter that is in read() when the other one takes the last event.
  while (fetched.load() < kEvents) std::this_thread::yield();
  channel.notify(one);
  channel.notify(two);
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_GE(fetched.load(), kEvents);
  channel.forget(one);
  channel.forget(two);
}

}  // namespace
}  // namespace urnic::nic
