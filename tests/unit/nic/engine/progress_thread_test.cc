// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices whose time is real and whose NIC thread runs; queue pairs talk to others of the same device.
#include "nic/engine/progress_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitizers.h"
#include "tests/unit/nic/engine/progress_fixture.h"

// What the NIC reads and writes of registered memory is for the program to synchronise, by completions or, as
// one test here does, by looking at the bytes: ThreadSanitizer knows no DMA.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:urnic::nic::MemoryTable\n";
}

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::Access;
using transport::Completion;
using transport::CompletionStatus;
using transport::SendOperation;
using transport::Sge;

/// Sends a message whenever one came; `wait` is how a thread waits for completions.
template <typename Wait>
void play(End& end, bool serves, int rounds, const Sge& sge, Wait wait) {
  int receives = 0;
  int sends = 0;
  for (int i = 0; i < rounds; ++i) {
    if (serves || i > 0) {
      while (receives < (serves ? i + 1 : i)) wait(end, receives, sends);
    }
    ASSERT_EQ(QueuePair::ReceiveBatch(*end.qp).post({.wr_id = 1}, std::span(&sge, 1)), PostStatus::kPosted);
    while (sends < i) wait(end, receives, sends);
    ASSERT_EQ(QueuePair::SendBatch(*end.qp).post({.wr_id = 2, .signaled = true}, std::span(&sge, 1)),
              PostStatus::kPosted);
  }
  while (sends < rounds) wait(end, receives, sends);
}

TEST_P(ProgressThreadTest, ServesTwoThreadsThatSleepUntilTheyAreNotified) {
  const auto sleep_until_notified = [](End& end, int& receives, int& sends) {
    end.queue->request_notification(false);
    const int before = receives + sends;
    take(end, receives, sends);
    if (receives + sends > before) return;
    ASSERT_TRUE(end.channel.wait());
    take(end, receives, sends);
  };
  constexpr int kRounds = 500;
  for (End& end : ends_) post_receive(end, sge(0));
  std::thread other([&] { play(ends_[1], true, kRounds, sge(64), sleep_until_notified); });
  play(ends_[0], false, kRounds, sge(128), sleep_until_notified);
  other.join();
}

TEST_P(ProgressThreadTest, ServesTwoThreadsThatPoll) {
  const auto poll = [](End& end, int& receives, int& sends) {
    take(end, receives, sends);
    std::this_thread::yield();
  };
  constexpr int kRounds = 2000;
  for (End& end : ends_) post_receive(end, sge(0));
  std::thread other([&] { play(ends_[1], true, kRounds, sge(64), poll); });
  play(ends_[0], false, kRounds, sge(128), poll);
  other.join();
}

/// Where the program's threads run rounds.
class HybridProgressTest : public ProgressThreadTest {};

// Looking for frames at each post costs a quarter of a program's message rate. Whether the NIC's thread looks
// just then is chance, so there are several attempts.
TEST_P(HybridProgressTest, LeavesFramesToPollsWhenAProgramPosts) {
  int posts_that_looked = 0;
  for (int attempt = 1; attempt <= 50; ++attempt) {
    int receives = 0, sends = 0;
    post_receive(ends_[1], sge(0));
    for (int i = 0; i < 32; ++i) take(ends_[0], receives, sends);  // the thread only watches from now on
    const int before = receives_;
    post_send(ends_[0], sge(64));
    posts_that_looked += receives_ != before;
    while (sends == 0) take(ends_[0], receives, sends);
    while (receives == 0) take(ends_[1], receives, sends);
    if (posts_that_looked < attempt) return;
  }
  ADD_FAILURE() << posts_that_looked << " of as many posts looked for frames";
}

// As ib_write_lat does: the target of one-sided traffic calls no verb while it waits.
TEST_P(ProgressThreadTest, DeliversWritesToAProgramThatOnlyLooksAtItsMemory) {
  const auto value_at = [&](std::size_t offset) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory_.data() + offset));
  };
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const std::uint64_t value = i;
    std::memcpy(memory_.data(), &value, sizeof value);
    const std::array sges{sge(0)};
    ASSERT_EQ(QueuePair::SendBatch(*ends_[0].qp)
                  .post({.wr_id = 2,
                         .operation = SendOperation::kWrite,
                         .signaled = i % 8 == 0,
                         .remote_address = region_.address + 512,
                         .rkey = transport::Rkey{region_.key}},
                        sges),
              PostStatus::kPosted);
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (value_at(512).load() != i && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(value_at(512).load(), i);
    int receives = 0, sends = 0;
    take(ends_[0], receives, sends);
  }
}

// No queue pair has this number, so only the clock ends the request.
// Peers on the same processor get their turn then.
TEST_P(HybridProgressTest, TellsThePortWhereAProgramPollsInVain) {
  std::array<transport::Completion, 1> none;
  ends_[0].queue->poll(none);
  EXPECT_EQ(notes_, 0);
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  while (notes_ == 0 && std::chrono::steady_clock::now() < give_up) ends_[0].queue->poll(none);
  EXPECT_GT(notes_, 0);
}

TEST_P(ProgressThreadTest, WakesUpForATimer) {
  auto qp = std::move(device_
                          .create_qp({.capabilities = {.max_send_wr = 1},
                                      .pd = pd_.get(),
                                      .send_queue = ends_[0].queue.get(),
                                      .receive_queue = ends_[0].queue.get()})
                          .value());
  ends_[0].queue->request_notification(false);
  constexpr transport::QpNumber kNotThere{5};
  ASSERT_TRUE(kernel::connect(*qp, {.address = {.destination = *device_.gids().at(1), .source_gid_index = 1},
                                    .peer_qp = kNotThere,
                                    .ack_timeout = 10,
                                    .retry_count = 2}));
  ASSERT_EQ(QueuePair::SendBatch(*qp).post({.wr_id = 9, .signaled = true}, {}), PostStatus::kPosted);
  ASSERT_EQ(ends_[0].channel.wait().value(), ends_[0].queue.get());
  std::array<Completion, 1> completion;
  ASSERT_EQ(ends_[0].queue->poll(completion), 1u);
  EXPECT_EQ(completion[0].status, CompletionStatus::kRetryExceeded);
  device_.destroy_qp(std::move(qp));
}

TEST_P(ProgressThreadTest, SleepsWhenNothingHappens) {
  // In one of these windows neighbor discovery may announce us, which wakes the thread for a while.
  int least = 1'000'000;
  for (int i = 0; i < 4; ++i) {
    const int before = receives_;
    std::this_thread::sleep_for(50ms);
    least = std::min(least, receives_ - before);
  }
  EXPECT_LE(least, GetParam().has_wake_fd ? 8 : 60);
}

TEST_P(ProgressThreadTest, SleepsUntilANotificationIsDueThatWasPutOff) {
  constexpr auto kPeriod = 60ms;
  End& receiver = ends_[1];
  receiver.queue->moderate({.count = 100, .period = kPeriod});
  receiver.queue->request_notification(false);
  post_receive(receiver, sge(0));
  const auto begin = std::chrono::steady_clock::now();
  post_send(ends_[0], sge(64));
  std::this_thread::sleep_for(20ms);
  const int before = receives_;
  ASSERT_EQ(receiver.channel.wait().value(), receiver.queue.get());
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, kPeriod);
  EXPECT_LE(waited, 20 * kPeriod);
  // As often as a thread looks that sleeps, and not as often as one that spins: 40 ms are tens of thousands
  // of rounds.
  EXPECT_LE(receives_ - before, 1000);
  int receives = 0;
  int sends = 0;
  take(receiver, receives, sends);
  EXPECT_EQ(receives, 1);
}

// A request that came twice may have lost its acknowledgement. Its peer asks again every 67 ms, and that may
// get lost, too. Most programs destroy the queue pair that saw it before they end.
TEST_P(ProgressThreadTest, LingersForSeveralRepetitionsWhereFramesComeTwice) {
  doubles_ = true;
  int receives = 0, sends = 0;
  post_receive(ends_[1], sge(0));
  post_send(ends_[0], sge(64));
  while (sends == 0) take(ends_[0], receives, sends);
  while (receives == 0) take(ends_[1], receives, sends);
  for (End& end : ends_) device_.destroy_qp(std::move(end.qp));
  const auto begin = std::chrono::steady_clock::now();
  device_.linger();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5 * 67ms);
}

/// The masks of blocked signals of the NIC's threads.
std::vector<std::uint64_t> blocked_signals() {
  std::vector<std::uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    bool is_ours = false;
    while (std::getline(status, line)) {
      is_ours = is_ours || line == "Name:\turnic";
      if (is_ours && line.starts_with("SigBlk:")) masks.push_back(std::stoull(line.substr(8), nullptr, 16));
    }
  }
  return masks;
}

TEST_P(ProgressThreadTest, RunsWithAllSignalsBlockedButFaults) {
  // All but SIGKILL, SIGSTOP and the two that the C library keeps for itself; and those that the fault guard
  // catches, SIGBUS and SIGSEGV.
  constexpr std::uint64_t kAll = ~std::uint64_t{0x180040100};
  constexpr std::uint64_t kFaults = 0x440;
  // The C library blocks all in a thread that begins.
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (blocked_signals() != std::vector{kAll & ~kFaults} && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(blocked_signals(), std::vector{kAll & ~kFaults});
}

TEST_P(ProgressThreadTest, SurvivesACancelledThreadThatPolls) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "cancelled threads confuse AddressSanitizer";
  pthread_t thread;
  const auto poll_for_ever = [](void* end) -> void* {
    while (true) {
      int receives = 0, sends = 0;
      take(*static_cast<End*>(end), receives, sends);
      pthread_testcancel();
    }
    return nullptr;
  };
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(pthread_create(&thread, nullptr, poll_for_ever, &ends_[0]), 0);
    std::this_thread::sleep_for(1ms);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  EXPECT_EQ(ends_[0].qp->query().state, transport::QpState::kReadyToSend);
}

TEST_P(ProgressThreadTest, LetsControlVerbsThroughWhileAThreadPolls) {
  std::atomic<bool> is_over{false};
  std::thread poller([&] {
    int receives = 0, sends = 0;
    while (!is_over) take(ends_[0], receives, sends);
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    const auto region = device_.register_memory(*pd_, memory_.data(), 8, 0, Access::kNone);
    ASSERT_TRUE(region);
    ASSERT_TRUE(device_.deregister_memory(*pd_, region.value().key));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  is_over = true;
  poller.join();
}

INSTANTIATE_TEST_SUITE_P(, ProgressThreadTest,
                         testing::Values(Mode{ProgressMode::kHybrid, true},
                                         Mode{ProgressMode::kHybrid, false},
                                         Mode{ProgressMode::kThread, true},
                                         Mode{ProgressMode::kThread, false}),
                         name_of_mode);
INSTANTIATE_TEST_SUITE_P(, HybridProgressTest,
                         testing::Values(Mode{ProgressMode::kHybrid, true},
                                         Mode{ProgressMode::kHybrid, false}),
                         name_of_mode);

}  // namespace
}  // namespace urnic::nic
