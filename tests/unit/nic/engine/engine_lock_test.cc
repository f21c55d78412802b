// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/engine_lock.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "nic/process/may_wait.h"
#include "nic/process/uncancelled_pause.h"

namespace urnic::nic {
namespace {

TEST(EngineLock, HasOneHolder) {
  EngineLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(EngineLock, SaysWhoAsksWhetherThereIsAHolder) {
  EngineLock lock;
  EXPECT_FALSE(lock.ask());
  lock.lock();
  EXPECT_TRUE(lock.ask());
  lock.unlock();
  EXPECT_FALSE(lock.ask());
}

TEST(EngineLock, TellsTheHolderOfAQuestionThatWasNotTaken) {
  EngineLock lock;
  lock.lock();
  EXPECT_FALSE(lock.unlock());

  lock.lock();
  lock.ask();
  EXPECT_TRUE(lock.unlock());
  EXPECT_TRUE(lock.is_asked());

  lock.lock();
  lock.take_question();
  EXPECT_FALSE(lock.unlock());
  EXPECT_FALSE(lock.is_asked());
}

TEST(EngineLock, KeepsAQuestionThatIsAskedAfterTheLastOneWasTaken) {
  EngineLock lock;
  lock.ask();
  lock.lock();
  lock.take_question();
  lock.ask();
  EXPECT_TRUE(lock.unlock());
}

// Programs take an errno for the reason of a failure. Signals end the wait in the kernel, which says EINTR.
TEST(EngineLock, LeavesErrnoAlone) {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &nothing, &before), 0);
  EngineLock lock;
  lock.lock();
  int errno_afterwards = 0;
  std::thread waiter([&] {
    errno = 0;
    lock.lock();
    errno_afterwards = errno;
    lock.unlock();
  });
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pthread_kill(waiter.native_handle(), SIGUSR1);
  }
  lock.unlock();
  waiter.join();
  EXPECT_EQ(errno_afterwards, 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(EngineLock, HasOneHolderAmongManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 20000;
  EngineLock lock;
  int count = 0;  // not atomic: the lock's
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&lock, &count, i] {
      for (int n = 0; n < kTimes; ++n) {
        if (i % 2 == 0) {
          lock.lock();
        } else {
          while (!lock.try_lock()) std::this_thread::yield();
        }
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

// What a post is: work made visible, then the question. No thread looks again at the end.
TEST(EngineLock, LosesNoWorkThatWasVisibleBeforeTheQuestion) {
  constexpr int kThreads = 3;
  constexpr int kPosts = 50000;
  EngineLock lock;
  std::atomic<int> waiting{0};
  int done = 0;  // the lock's
  const auto work_while_asked = [&] {
    while (lock.try_lock()) {
      lock.take_question();
      done += waiting.exchange(0, std::memory_order_relaxed);
      if (!lock.unlock()) break;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kPosts; ++n) {
        waiting.fetch_add(1, std::memory_order_relaxed);
        if (!lock.ask()) work_while_asked();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kPosts);
}

TEST(EngineLockDeathTest, HasNoHolderThatWaits) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#else
  EngineLock lock;
  assert_may_wait();
  lock.lock();
  EXPECT_DEATH(assert_may_wait(), "holds an engine's lock");
  EXPECT_DEATH(pause_uncancelled(std::chrono::milliseconds(1)), "holds an engine's lock");
  std::thread([] { assert_may_wait(); }).join();
  lock.unlock();
  assert_may_wait();
  ASSERT_TRUE(lock.try_lock());
  EXPECT_DEATH(assert_may_wait(), "holds an engine's lock");
  lock.unlock();
  assert_may_wait();
#endif
}

}  // namespace
}  // namespace urnic::nic
