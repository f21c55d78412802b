// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices whose wire grants the time.
#include "nic/engine/lock_step.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/bench/bench_port.h"
#include "nic/device/device.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/queue_pair.h"
#include "tests/unit/drivers/bench/played_bench.h"
#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/kernel/require.h"
#include "tools/simulation/kernel/virtual_host.h"

namespace urnic::drivers::test {
namespace {

constexpr std::uint64_t kWireLatencyPs = 800'000;
constexpr std::uint64_t kAddress = 0x10000;
constexpr std::size_t kMessages = 60;
constexpr std::uint32_t kMessageBytes = 3000;  // three packets

/// A device at the link's end of a bench that has said hello.
class Nic {
 public:
  explicit Nic(std::size_t number)
      : host_(config(number), clock_, [this] { return open(); }, {.memory = memory_, .address = kAddress}) {
    bench_.send(Written::hello(kWireLatencyPs));
    host_.device().set_event_handlers({.on_link_lost = [this] { return ++told_ > 1; }});
    qp_ =
        host_.create_qp({.max_send_wr = 128, .max_receive_wr = 128, .max_send_sge = 1, .max_receive_sge = 1});
    EXPECT_FALSE(bench_.read().empty()) << "its hello";
  }
  ~Nic() { host_.device().destroy_qp(std::move(qp_)); }

  PlayedBench& bench() { return bench_; }
  nic::QueuePair& qp() { return *qp_; }
  std::int64_t now() const { return clock_.on_wire().count(); }
  /// How often it was told that the link is lost; the first time it could not be told.
  int told() const { return told_; }

  void connect_to(std::size_t number, transport::QpNumber peer) {
    const transport::wire::Gid peer_address = transport::wire::Gid::from_ipv4(kernel::ipv4_of(number));
    nic::AddressVector address = host_.address();
    address.destination = peer_address;
    kernel::require(kernel::connect(*qp_, {.address = address, .peer_qp = peer, .retry_count = 1}));
  }
  void post_receives() {
    nic::QueuePair::ReceiveBatch batch(*qp_);
    const std::array<transport::Sge, 1> elements{host_.sge(0, kMessageBytes)};
    for (std::size_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(batch.post({}, elements), nic::PostStatus::kPosted);
    }
  }
  void post_send() {
    nic::QueuePair::SendBatch batch(*qp_);
    const std::array<transport::Sge, 1> elements{host_.sge(0, kMessageBytes)};
    const transport::SendRequest request{.operation = transport::SendOperation::kSend, .signaled = true};
    EXPECT_EQ(batch.post(request, elements), nic::PostStatus::kPosted);
  }
  /// Polls until a completion comes.
  transport::CompletionStatus poll() {
    std::array<transport::Completion, 1> completion{};
    while (host_.cq().poll(completion) == 0) {
    }
    return completion[0].status;
  }

 private:
  static nic::DeviceConfig config(std::size_t number) {
    nic::DeviceConfig made = kernel::config_of(number);
    made.progress = nic::ProgressMode::kLockStep;
    made.seed = number + 1;
    return made;
  }
  Result<nic::OpenedPort, Error> open() {
    auto link = BenchLink::over(bench_.take_link_end(), "b", {.own = {.link_mtu = 4200}}, clock_);
    if (!link) return link.error();
    nic::GrantedTime* const time = link.value().get();
    nic::OpenedPort opened(std::make_unique<BenchPort>(std::move(link.value())));
    opened.time = time;
    return opened;
  }

  std::atomic<int> told_{0};
  PlayedBench bench_;
  nic::GrantedClock clock_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 16);
  kernel::VirtualHost host_;
  std::unique_ptr<nic::QueuePair> qp_;
};

/// Passes on what two NICs send to each other, and keeps the frames of either.
class Relay {
 public:
  Relay(PlayedBench& a, PlayedBench& b) : ends_{&a, &b}, thread_([this] { run(); }) {}
  ~Relay() { end(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void end() {
    is_ending_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  const std::array<std::vector<Bytes>, 2>& frames() const { return frames_; }

 private:
  void run() {
    while (!is_ending_.load()) {
      std::array<pollfd, 2> sockets{{{.fd = ends_[0]->socket(), .events = POLLIN, .revents = 0},
                                     {.fd = ends_[1]->socket(), .events = POLLIN, .revents = 0}}};
      ::poll(sockets.data(), sockets.size(), 10);
      for (const std::size_t from : {0u, 1u}) {
        for (Bytes message = ends_[from]->read(); !message.empty(); message = ends_[from]->read()) {
          if (message[0] == 3) frames_[from].push_back(message);
          ends_[1 - from]->send(message);
        }
      }
    }
  }

  std::array<PlayedBench*, 2> ends_;
  std::array<std::vector<Bytes>, 2> frames_;
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

struct Outcome {
  std::array<std::vector<Bytes>, 2> frames;
  std::array<std::int64_t, 2> end_ns{};
};

/// One NIC sends messages one after the other, two under way at a time, and the other receives them.
Outcome run_pair() {
  Nic sender(0);
  Nic receiver(1);
  Relay relay(sender.bench(), receiver.bench());
  sender.connect_to(1, receiver.qp().number());
  receiver.connect_to(0, sender.qp().number());
  receiver.post_receives();
  Outcome outcome;
  std::thread receiving([&] {
    for (std::size_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(receiver.poll(), transport::CompletionStatus::kSuccess) << i;
    }
    outcome.end_ns[1] = receiver.now();
  });
  sender.post_send();
  for (std::size_t i = 1; i <= kMessages; ++i) {
    if (i < kMessages) sender.post_send();
    EXPECT_EQ(sender.poll(), transport::CompletionStatus::kSuccess) << i;
  }
  outcome.end_ns[0] = sender.now();
  receiving.join();
  relay.end();
  outcome.frames = relay.frames();
  return outcome;
}

TEST(LockStep, TwoRunsSendTheSameFramesAtTheSameTimes) {
  const Outcome first = run_pair();
  EXPECT_GE(first.frames[0].size(), 3 * kMessages);
  EXPECT_FALSE(first.frames[1].empty());
  // Two are under way, and a message takes a round trip at least.
  EXPECT_GE(first.end_ns[0], static_cast<std::int64_t>(kMessages / 2 * 2 * kWireLatencyPs / 1000));
  const Outcome second = run_pair();
  EXPECT_EQ(first.frames[0], second.frames[0]);
  EXPECT_EQ(first.frames[1], second.frames[1]);
  EXPECT_EQ(first.end_ns, second.end_ns);
}

/// Of the NIC with number 0, by an Ethernet station that is not a NIC of ours.
Bytes arp_request() {
  Bytes frame{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
  frame.insert(frame.end(), {2, 0, 0, 0, 0, 9, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1});
  frame.resize(60);
  return frame;
}

bool is_arp_reply(const Bytes& message) {
  return message.size() == 76 && message[16 + 12] == 8 && message[16 + 13] == 6 && message[16 + 21] == 2;
}

TEST(LockStep, AnswersWhileTheProgramSleepsAtTheTimeAtWhichItIsAsked) {
  Nic nic(0);
  nic.bench().send(Written::frame(1'200'000, arp_request()));
  nic.bench().send(Written::grant(5'000'000));
  pollfd socket{.fd = nic.bench().socket(), .events = POLLIN, .revents = 0};
  Bytes answer;
  while (!is_arp_reply(answer)) {
    ASSERT_EQ(::poll(&socket, 1, 10'000), 1) << "there was no answer";
    answer = nic.bench().read();
  }
  // The header says when it arrives.
  const Bytes header = Written::frame(1'200'000 + kWireLatencyPs, Bytes(60));
  EXPECT_EQ(Bytes(answer.begin(), answer.begin() + 16), Bytes(header.begin(), header.begin() + 16));
}

TEST(LockStep, TimeStandsWhileTheProgramComputes) {
  Nic nic(0);
  nic.bench().send(Written::grant(5'000'000'000));
  // Long enough for the NIC's thread to look several times.
  const std::clock_t begin = std::clock();
  while (std::clock() - begin < CLOCKS_PER_SEC / 125) {
  }
  EXPECT_EQ(nic.now(), 0);
}

TEST(LockStep, TellsOnceThatThePeerIsGoneAndLetsRequestsFail) {
  Nic nic(0);
  nic.connect_to(1, transport::QpNumber(77));
  nic.bench().hang_up();
  nic.post_send();
  EXPECT_EQ(nic.poll(), transport::CompletionStatus::kRetryExceeded);
  EXPECT_EQ(nic.told(), 2) << "once more, as it could not be told at first";
}

}  // namespace
}  // namespace urnic::drivers::test
