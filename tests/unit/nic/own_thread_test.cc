// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Threads of ours run where the process was started, not where a thread of the program was pinned.
#include "nic/process/own_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace urnic::nic {
namespace {

std::vector<unsigned> processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<unsigned> processors;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

std::vector<unsigned> processors_of_own_thread() {
  std::vector<unsigned> processors;
  start_own_thread("own", [&] { processors = processors_of_this_thread(); }).join();
  return processors;
}

/// Runs `body` on a thread that the program has pinned to its first processor.
template <typename Body>
void on_pinned_thread(Body body) {
  std::thread([&] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(processors_of_this_thread().front(), &first);
    ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
    body();
  }).join();
}

class OwnThread : public testing::Test {
 protected:
  void SetUp() override {
    if (all.size() < 2) GTEST_SKIP() << "there is one processor";
  }
  ~OwnThread() override { EXPECT_TRUE(choose_own_processors(all)); }

  const std::vector<unsigned> all = processors_of_this_thread();
};

TEST_F(OwnThread, RunsOnTheProcessorsThatTheProcessWasStartedWith) {
  on_pinned_thread([&] { EXPECT_EQ(processors_of_own_thread(), all); });
}

TEST_F(OwnThread, RunsOnTheProcessorsThatWereChosen) {
  ASSERT_TRUE(choose_own_processors(std::vector<unsigned>{all.back()}));
  EXPECT_EQ(processors_of_own_thread(), std::vector<unsigned>{all.back()});
  EXPECT_EQ(processors_of_this_thread(), all);
}

TEST_F(OwnThread, RefusesProcessorsThatAreNotThere) {
  EXPECT_EQ(choose_own_processors(std::vector<unsigned>{65535}).error().code, EINVAL);
  EXPECT_EQ(choose_own_processors({}).error().code, EINVAL);
  EXPECT_EQ(processors_of_this_thread(), all);
  EXPECT_EQ(processors_of_own_thread(), all);
}

TEST_F(OwnThread, IsScheduledAsUsual) {
  sched_param parameters{.sched_priority = 0};
  ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &parameters), 0);
  int policy = -1;
  start_own_thread("own", [&] { policy = sched_getscheduler(0); }).join();
  sched_setscheduler(0, SCHED_OTHER, &parameters);
  EXPECT_EQ(policy, SCHED_OTHER);
}

}  // namespace
}  // namespace urnic::nic
