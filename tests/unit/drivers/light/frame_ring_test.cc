// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A ring of frames, and ends of it that lie.
#include "drivers/direct/frame_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/direct/ring_memory.h"

namespace urnic::drivers {
namespace {

constexpr RingGeometry kSmall{.slots = 4, .max_frame_bytes = 200};
constexpr std::size_t kFirstSlot = 4096;

class FrameRing : public testing::Test {
 protected:
  bool put(std::uint8_t fill, std::size_t length = 60) {
    const auto room = producer.reserve();
    if (room.empty()) return false;
    std::memset(room.data(), fill, length);
    producer.commit(length);
    return true;
  }
  /// The first bytes of what one receive() gives.
  std::vector<int> take(std::size_t most = 16) {
    std::vector<nic::ReceivedFrame> frames(most);
    frames.resize(consumer.receive(frames));
    std::vector<int> found;
    for (const auto frame : frames) found.push_back(std::to_integer<int>(frame.front()));
    return found;
  }
  void overwrite_length(std::size_t slot, std::uint32_t length) {
    std::memcpy(memory.bytes().data() + kFirstSlot + slot * kSmall.slot_bytes(), &length, sizeof(length));
  }
  ring::Control& control() { return *reinterpret_cast<ring::Control*>(memory.bytes().data()); }

  RingMemory memory = std::move(RingMemory::create(kSmall.bytes()).value());
  RingProducer producer{memory.bytes(), kSmall};
  RingConsumer consumer{memory.bytes(), kSmall};
};

TEST_F(FrameRing, GivesFramesInOrder) {
  EXPECT_TRUE(put(1) && put(2));
  producer.publish();
  EXPECT_EQ(take(), (std::vector{1, 2}));
  EXPECT_EQ(take(), std::vector<int>());
}

TEST_F(FrameRing, ShowsFramesWithPublish) {
  put(1);
  EXPECT_FALSE(consumer.has_frames());
  producer.publish();
  EXPECT_TRUE(consumer.has_frames());
}

TEST_F(FrameRing, IsFullUntilTheConsumerComesAgain) {
  for (std::uint8_t i = 0; i < kSmall.slots; ++i) EXPECT_TRUE(put(i));
  EXPECT_FALSE(put(9));
  producer.publish();
  EXPECT_EQ(take(3).size(), 3u);
  EXPECT_FALSE(put(9)) << "the frames may still be read";
  EXPECT_EQ(take(), std::vector{3});
  EXPECT_EQ(producer.count_untaken(), 1u);
  EXPECT_TRUE(put(9));
  take();
  EXPECT_EQ(producer.count_untaken(), 1u);
}

TEST_F(FrameRing, KeepsLengths) {
  for (const std::size_t length : {14u, 15u, 199u, 200u}) {
    put(1, length);
    producer.publish();
    std::array<nic::ReceivedFrame, 1> frame;
    ASSERT_EQ(consumer.receive(frame), 1u);
    EXPECT_EQ(frame[0].size(), length);
  }
}

TEST_F(FrameRing, TellsWhichFramesHaveNoIcrc) {
  put(1);
  const auto room = producer.reserve();
  std::memset(room.data(), 2, 60);
  producer.commit_without_icrc(60);
  producer.publish();
  std::array<nic::ReceivedFrame, 2> frames;
  ASSERT_EQ(consumer.receive(frames), 2u);
  EXPECT_TRUE(frames[0].has_icrc());
  EXPECT_FALSE(frames[1].has_icrc());
  EXPECT_EQ(frames[1].size(), 60u);

  RingConsumer other(memory.bytes(), kSmall, true);
  ASSERT_EQ(other.receive(frames), 2u);
  EXPECT_TRUE(frames[1].has_icrc()) << "it was not to be left out";
}

TEST_F(FrameRing, TellsWhereTheConsumersProgramPolls) {
  EXPECT_EQ(producer.poller(), std::nullopt);
  consumer.say_poller(0);
  EXPECT_EQ(producer.poller(), 0u);
  consumer.say_poller(63);
  EXPECT_EQ(producer.poller(), 63u);
}

TEST_F(FrameRing, WakesASleeperOnce) {
  put(1);
  EXPECT_FALSE(producer.publish());
  take();
  consumer.arm();
  put(2);
  EXPECT_TRUE(producer.publish());
  put(3);
  EXPECT_FALSE(producer.publish());
  consumer.arm();
  consumer.disarm();
  put(4);
  EXPECT_FALSE(producer.publish());
}

// --- Ends that lie ---

TEST_F(FrameRing, LeavesOutFramesOfImpossibleLength) {
  for (std::uint8_t i = 0; i < 4; ++i) put(i);
  producer.publish();
  overwrite_length(0, 13);
  overwrite_length(1, kSmall.max_frame_bytes + 1);
  overwrite_length(3, ~0u);
  EXPECT_EQ(take(), std::vector{2});
  EXPECT_EQ(consumer.malformed_frames(), 3u);
}

TEST_F(FrameRing, BreaksWhenTheProducerShowsMoreThanTheRingHolds) {
  for (const std::uint64_t head : {std::uint64_t{5}, ~std::uint64_t{0}}) {
    RingConsumer other(memory.bytes(), kSmall);
    control().head = head;
    std::array<nic::ReceivedFrame, 16> frames;
    EXPECT_EQ(other.receive(frames), 0u);
    EXPECT_TRUE(other.is_broken());
    control().head = 1;
    EXPECT_EQ(other.receive(frames), 0u);
    EXPECT_FALSE(other.has_frames());
  }
}

TEST_F(FrameRing, BreaksWhenTheConsumerGivesBackWhatItWasNotGiven) {
  for (std::uint8_t i = 0; i < 4; ++i) put(i);
  producer.publish();
  control().tail = 5;
  EXPECT_FALSE(put(9));
  EXPECT_TRUE(producer.is_broken());
}

TEST_F(FrameRing, BreaksWhenTheConsumerTakesBackWhatItGave) {
  put(1);
  producer.publish();
  take();
  take();
  EXPECT_EQ(producer.count_untaken(), 0u);
  control().tail = 0;
  producer.count_untaken();
  EXPECT_TRUE(producer.is_broken());
}

// Whatever stands in the memory: nothing is read or written outside of it (with sanitizers), and nothing
// hangs.
TEST_F(FrameRing, SurvivesAnyContents) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto control_words = memory.bytes().first(256);
    const std::size_t at = random() % (control_words.size() / 8) * 8;
    const std::uint64_t value = round % 3 == 0 ? random() : random() % 9;
    std::memcpy(control_words.data() + at, &value, sizeof(value));
    overwrite_length(random() % 4, static_cast<std::uint32_t>(random() >> (random() % 33 + 31)));
    RingProducer each_producer(memory.bytes(), kSmall);
    RingConsumer each_consumer(memory.bytes(), kSmall);
    for (int i = 0; i < 6; ++i) {
      if (const auto room = each_producer.reserve(); !room.empty()) each_producer.commit(room.size());
      each_producer.publish();
      std::array<nic::ReceivedFrame, 8> frames;
      const std::size_t count = each_consumer.receive(frames);
      ASSERT_LE(count, kSmall.slots);
      for (const auto frame : std::span(frames).first(count)) {
        ASSERT_GE(frame.data(), memory.bytes().data());
        ASSERT_LE(frame.data() + frame.size(), memory.bytes().data() + memory.bytes().size());
      }
    }
  }
}

TEST(RingGeometryOf, AnotherProcessMustBePossible) {
  EXPECT_TRUE((RingGeometry{.slots = 128, .max_frame_bytes = 4214}.is_valid()));
  EXPECT_TRUE((RingGeometry{.slots = 128, .max_frame_bytes = 9614}.is_valid()));
  for (const RingGeometry& wrong : {
           RingGeometry{.slots = 0, .max_frame_bytes = 4214},
           RingGeometry{.slots = 3, .max_frame_bytes = 4214},
           RingGeometry{.slots = 2048, .max_frame_bytes = 64},
           RingGeometry{.slots = 1024, .max_frame_bytes = 9614},
           RingGeometry{.slots = 128, .max_frame_bytes = 13},
           RingGeometry{.slots = 1024, .max_frame_bytes = ~0u},
       }) {
    EXPECT_FALSE(wrong.is_valid()) << wrong.slots << ' ' << wrong.max_frame_bytes;
  }
}

// --- Its memory ---

TEST(RingMemory, IsNotOfHugePagesWhichMayBeMissingWhenTheyAreTouched) {
  Descriptor file(memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) GTEST_SKIP() << "this kernel has no huge pages";
  ASSERT_EQ(ftruncate(file.get(), status.st_blksize), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const auto adopted = RingMemory::adopt(std::move(file), static_cast<std::size_t>(status.st_blksize));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, EINVAL);  // and not ENOMEM, of which there may be enough now
}

// --- Two threads ---

TEST(FrameRingOfTwoThreads, LosesNoFrameAndNoWakeUp) {
  constexpr std::uint32_t kFrames = 200'000;
  const RingGeometry geometry{.slots = 8, .max_frame_bytes = 256};
  const RingMemory memory = std::move(RingMemory::create(geometry.bytes()).value());
  std::atomic<bool> is_woken = false;
  std::thread producing([&] {
    RingProducer producer(memory.bytes(), geometry);
    std::mt19937 random(7);
    for (std::uint32_t i = 0; i < kFrames;) {
      const auto room = producer.reserve();
      if (!room.empty()) {
        std::memcpy(room.data(), &i, sizeof(i));
        std::memset(room.data() + sizeof(i), static_cast<int>(i), 60);
        producer.commit(sizeof(i) + 60);
        ++i;
      }
      if ((room.empty() || random() % 3 == 0 || i == kFrames) && producer.publish()) is_woken = true;
      if (room.empty()) std::this_thread::yield();
    }
  });
  RingConsumer consumer(memory.bytes(), geometry);
  std::uint32_t expected = 0;
  while (expected < kFrames) {
    std::array<nic::ReceivedFrame, 5> frames;
    const std::size_t count = consumer.receive(frames);
    for (const auto frame : std::span(frames).first(count)) {
      std::uint32_t number = 0;
      std::memcpy(&number, frame.data(), sizeof(number));
      ASSERT_EQ(number, expected++);
      ASSERT_EQ(frame.back(), static_cast<std::byte>(number));
    }
    if (count > 0) continue;
    is_woken = false;
    consumer.arm();
    if (!consumer.has_frames()) {
      while (!is_woken) std::this_thread::yield();
    }
    consumer.disarm();
  }
  producing.join();
}

}  // namespace
}  // namespace urnic::drivers
