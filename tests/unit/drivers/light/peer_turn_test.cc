// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Other processes that run, sleep or are stopped.
#include "drivers/direct/peer_turn.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;

/// Killed when the test ends.
class Child {
 public:
  explicit Child(void (*body)()) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    _exit(0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

void spin() {
  for (volatile bool goes_on = true; goes_on;) {
  }
}

void sleep_for_ever() {
  for (;;) pause();
}

bool becomes(pid_t process, bool wants) {
  for (int i = 0; i < 2000; ++i) {
    if (wants_processor(process) == wants) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST(WantsProcessor, IsTrueOfOneThatRunsAndOfNoOther) {
  const Child running(spin), sleeping(sleep_for_ever);
  EXPECT_TRUE(wants_processor(running.pid()));
  EXPECT_TRUE(becomes(sleeping.pid(), false));
  kill(running.pid(), SIGSTOP);
  EXPECT_TRUE(becomes(running.pid(), false));
  kill(running.pid(), SIGCONT);
  EXPECT_TRUE(becomes(running.pid(), true));
  EXPECT_FALSE(wants_processor(0));
}

TEST(WantsProcessor, LooksAtAllThreads) {
  const Child child([] {
    std::thread(spin).detach();
    sleep_for_ever();
  });
  EXPECT_TRUE(becomes(child.pid(), true));
}

TEST(PeerTurn, IsAwaitedOfAProcessThatRuns) {
  const Child running(spin), sleeping(sleep_for_ever);
  EXPECT_TRUE(PeerTurn().is_awaited(running.pid(), 7));
  ASSERT_TRUE(becomes(sleeping.pid(), false));
  EXPECT_FALSE(PeerTurn().is_awaited(sleeping.pid(), 7));
  EXPECT_FALSE(PeerTurn().is_awaited(0, 7)) << "not known";
}

}  // namespace
}  // namespace urnic::drivers
