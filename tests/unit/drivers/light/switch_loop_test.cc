// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/switch_loop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "drivers/fabric/learning_switch.h"
#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers {
namespace {

using test::Bytes;
using test::frame_between;
using test::kBroadcast;
using transport::wire::Mac;

constexpr Mac kSomebody{{2, 0, 0, 0, 0, 1}};

/// What a port that another thread uses as well shares with it. Tells of frames only while it is armed.
struct Wire {
  std::mutex mutex;
  std::deque<Bytes> to_switch;
  std::size_t from_switch = 0;
  bool is_armed = false;
  const int wake_fd = eventfd(0, EFD_NONBLOCK);

  ~Wire() { close(wake_fd); }
  void put(const Bytes& frame) {
    const std::lock_guard lock(mutex);
    to_switch.push_back(frame);
    if (is_armed) eventfd_write(wake_fd, 1);
  }
  std::size_t received() {
    const std::lock_guard lock(mutex);
    return from_switch;
  }
  bool waits() {
    const std::lock_guard lock(mutex);
    return is_armed;
  }
};

class WirePort final : public nic::PacketPort {
 public:
  explicit WirePort(std::shared_ptr<Wire> wire, bool wakes = true) : wire_(std::move(wire)), wakes_(wakes) {}
  std::size_t receive(std::span<nic::ReceivedFrame> frames) override {
    const std::lock_guard lock(wire_->mutex);
    given_.clear();
    while (given_.size() < frames.size() && !wire_->to_switch.empty()) {
      given_.push_back(std::move(wire_->to_switch.front()));
      wire_->to_switch.pop_front();
    }
    std::copy(given_.begin(), given_.end(), frames.begin());
    return given_.size();
  }
  nic::Room reserve_to(const transport::wire::Mac&) override { return std::span(room_); }
  void commit(std::size_t) override {
    const std::lock_guard lock(wire_->mutex);
    ++wire_->from_switch;
  }
  void flush() override {}
  std::size_t max_frame_bytes() const override { return room_.size(); }
  int wake_fd() const override { return wakes_ ? wire_->wake_fd : -1; }
  bool arm() override {
    const std::lock_guard lock(wire_->mutex);
    eventfd_t count = 0;
    eventfd_read(wire_->wake_fd, &count);
    wire_->is_armed = wakes_;
    return !wire_->to_switch.empty();
  }
  void disarm() override {
    const std::lock_guard lock(wire_->mutex);
    wire_->is_armed = false;
  }
  Statistics statistics() const override { return {}; }
  std::string description() const override { return "wire"; }

 private:
  std::shared_ptr<Wire> wire_;
  const bool wakes_;
  Bytes room_ = Bytes(2000);
  std::vector<Bytes> given_;
};

template <typename Condition>
bool comes_true(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

class SwitchLoopTest : public ::testing::Test {
 protected:
  SwitchLoopTest()
      : loop_(std::move(SwitchLoop::create(std::make_unique<LearningSwitch>()).value())),
        thread_([this] { loop_->run(); }) {}
  ~SwitchLoopTest() override {
    loop_->stop();
    thread_.join();
  }

  std::unique_ptr<SwitchLoop> loop_;
  std::thread thread_;
};

TEST_F(SwitchLoopTest, WakesForEveryFrameThatComesWhileItSleeps) {
  const auto from = std::make_shared<Wire>();
  const auto to = std::make_shared<Wire>();
  EXPECT_EQ(loop_->add(std::make_unique<WirePort>(from)), 0);
  EXPECT_EQ(loop_->add(std::make_unique<WirePort>(to)), 1);
  for (std::size_t i = 1; i <= 200; ++i) {
    if (i % 2 == 0) {
      ASSERT_TRUE(comes_true([&] { return from->waits(); })) << "it does not go to sleep";
    }
    from->put(frame_between(kBroadcast, kSomebody, 60, 0));
    ASSERT_TRUE(comes_true([&] { return to->received() == i; })) << "frame " << i;
  }
}

TEST_F(SwitchLoopTest, PollsAPortThatCannotWakeIt) {
  const auto from = std::make_shared<Wire>();
  const auto to = std::make_shared<Wire>();
  loop_->add(std::make_unique<WirePort>(from, /*wakes=*/false));
  loop_->add(std::make_unique<WirePort>(to));
  ASSERT_TRUE(comes_true([&] { return to->waits(); }));
  from->put(frame_between(kBroadcast, kSomebody, 60, 0));
  EXPECT_TRUE(comes_true([&] { return to->received() == 1; }));
}

TEST_F(SwitchLoopTest, AnswersQuestionsOfSeveralThreadsAsleepOrNot) {
  loop_->add(std::make_unique<WirePort>(std::make_shared<Wire>()));
  std::vector<std::thread> askers;
  std::atomic<int> answers = 0;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) loop_->ask([&](Switch& it) { answers += static_cast<int>(it.size()); });
    });
  }
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(answers, 800);
}

}  // namespace
}  // namespace urnic::drivers
