// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices whose time is real and whose NIC thread runs; queue pairs talk to others of the same device.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/loopback/loopback_port.h"
#include "nic/device/device.h"
#include "nic/port/port_around.h"
#include "nic/queues/post_run.h"
#include "tests/unit/nic/device_pair.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/kernel/connect.h"

namespace urnic::nic {

/// A loopback that counts how often it is looked at and what is sent, may double frames or keep them back,
/// and may have no descriptor to wait for.
class CountedPort final : public PortAround {
 public:
  CountedPort(std::unique_ptr<PacketPort> port, bool has_wake_fd, std::atomic<int>& receives,
              std::atomic<int>& sends, std::atomic<int>& notes, const std::atomic<bool>& doubles,
              const std::atomic<bool>& is_deaf)
      : PortAround(std::move(port)),
        has_wake_fd_(has_wake_fd),
        receives_(receives),
        sends_(sends),
        notes_(notes),
        doubles_(doubles),
        is_deaf_(is_deaf) {}
  std::size_t receive(std::span<ReceivedFrame> frames) override {
    ++receives_;
    if (is_deaf_) return 0;
    std::size_t count = inner().receive(frames);
    if (doubles_ && count > 0 && count < frames.size()) frames[count++] = frames[0];
    return count;
  }
  bool may_hold_frames() const override { return !is_deaf_ && inner().may_hold_frames(); }
  void commit(std::size_t length) override {
    ++sends_;
    inner().commit(length);
  }
  void note_poller(std::uint32_t) override { ++notes_; }
  int wake_fd() const override { return has_wake_fd_ ? inner().wake_fd() : -1; }
  bool arm() override { return has_wake_fd_ && inner().arm(); }
  void disarm() override {
    if (has_wake_fd_) inner().disarm();
  }

 private:
  bool has_wake_fd_;
  std::atomic<int>& receives_;
  std::atomic<int>& sends_;
  std::atomic<int>& notes_;
  const std::atomic<bool>& doubles_;
  const std::atomic<bool>& is_deaf_;
};

struct Mode {
  ProgressMode progress;
  bool has_wake_fd;
};

/// One end of a connection: a queue pair with a completion queue and a channel of its own.
struct End {
  CompletionChannel channel;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<QueuePair> qp;
};

class ProgressThreadTest : public testing::TestWithParam<Mode> {
 protected:
  ProgressThreadTest() : device_(config(), clock_, [this]() { return open_port(); }) {
    pd_ = std::move(device_.allocate_pd().value());
    region_ = device_
                  .register_memory(*pd_, memory_.data(), memory_.size(),
                                   reinterpret_cast<std::uint64_t>(memory_.data()),
                                   transport::Access::kLocalWrite | transport::Access::kRemoteWrite)
                  .value();
    for (End& end : ends_) {
      end.queue = std::move(device_.create_cq(256, &end.channel, nullptr).value());
      end.qp = std::move(device_
                             .create_qp({.capabilities = {.max_send_wr = 16,
                                                          .max_receive_wr = 16,
                                                          .max_send_sge = 1,
                                                          .max_receive_sge = 1},
                                         .pd = pd_.get(),
                                         .send_queue = end.queue.get(),
                                         .receive_queue = end.queue.get()})
                             .value());
    }
    connect(*ends_[0].qp, *ends_[1].qp, *device_.gids().at(1));
    connect(*ends_[1].qp, *ends_[0].qp, *device_.gids().at(1));
  }
  ~ProgressThreadTest() override {
    for (End& end : ends_) {
      if (end.qp != nullptr) device_.destroy_qp(std::move(end.qp));
      EXPECT_TRUE(device_.destroy_cq(end.queue));
    }
  }

  static DeviceConfig config() {
    DeviceConfig config = kernel::config_of(0);
    config.progress = GetParam().progress;
    config.seed = 1;
    return config;
  }
  Result<OpenedPort, Error> open_port() {
    auto loopback = std::make_unique<drivers::LoopbackPort>(kMac, nullptr, 4214);
    return std::unique_ptr<PacketPort>(std::make_unique<CountedPort>(
        std::move(loopback), GetParam().has_wake_fd, receives_, sends_, notes_, doubles_, is_deaf_));
  }
  static void connect(QueuePair& qp, const QueuePair& peer, const transport::wire::Gid& gid) {
    ASSERT_TRUE(kernel::connect(qp, {.address = {.destination = gid, .source_gid_index = 1},
                                     .peer_qp = peer.number(),
                                     .max_reads_in_flight = 1,
                                     .min_rnr_timer = 1,
                                     .ack_timeout = 20}));  // 4 s, longer than a busy machine keeps us deaf
  }

  transport::Sge sge(std::size_t offset) const {
    return {.address = region_.address + offset, .length = 8, .lkey = transport::Lkey{region_.key}};
  }
  static void post_receive(End& end, const transport::Sge& sge) {
    ASSERT_EQ(QueuePair::ReceiveBatch(*end.qp).post({.wr_id = 1}, std::span(&sge, 1)), PostStatus::kPosted);
  }
  static void post_send(End& end, const transport::Sge& sge) {
    ASSERT_EQ(QueuePair::SendBatch(*end.qp).post({.wr_id = 2, .signaled = true}, std::span(&sge, 1)),
              PostStatus::kPosted);
  }
  static void take(End& end, int& receives, int& sends) {
    std::array<transport::Completion, 8> completions;
    const std::size_t count = end.queue->poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(completions[i].status, transport::CompletionStatus::kSuccess);
      ++(completions[i].wr_id == 1 ? receives : sends);
    }
  }

  /// Real time, whose ticks stand still until a test moves them: what a thread does follows directly, however
  /// busy the machine is.
  class Clock final : public nic::Clock {
   public:
    transport::Time now() const override { return steady_.now(); }
    std::chrono::nanoseconds wall_time() const override { return steady_.wall_time(); }
    std::uint64_t ticks() const override { return ticks_; }
    void pause() { ticks_ += PostRun::kDirectly + 1; }

   private:
    SteadyClock steady_;
    std::atomic<std::uint64_t> ticks_{0};
  };

  static constexpr transport::wire::Mac kMac = kernel::mac_of(0);
  Clock clock_;
  std::atomic<int> receives_{0};  // looks for frames
  std::atomic<int> sends_{0};     // frames
  std::atomic<int> notes_{0};     // where the program polls
  std::atomic<bool> doubles_{false};
  std::atomic<bool> is_deaf_{false};
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  std::array<End, 2> ends_;
  Device device_;
  std::unique_ptr<ProtectionDomain> pd_;
  MemoryRegion region_;
};

inline std::string name_of_mode(const testing::TestParamInfo<Mode>& mode) {
  return std::string(mode.param.progress == ProgressMode::kHybrid ? "Hybrid" : "Thread") +
         (mode.param.has_wake_fd ? "" : "Polled");
}

}  // namespace urnic::nic
