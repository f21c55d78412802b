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

// --- Runs ---

/// A ring whose longest run takes four of its slots.
class FrameRingWithRuns : public testing::Test {
 protected:
  static constexpr RingGeometry kGeometry{.slots = 16, .max_frame_bytes = 246};
  static constexpr nic::RunShape kShape{.mtu = transport::PathMtu::k256, .packets = 3};

  bool put(std::uint8_t fill) {
    const auto room = producer.reserve();
    if (room.empty()) return false;
    std::memset(room.data(), fill, 60);
    producer.commit(60);
    return true;
  }
  bool put_run(std::uint8_t fill, std::size_t length) {
    const auto room = producer.reserve();
    if (room.empty() || producer.run_bytes() < length) return false;
    std::memset(room.data(), fill, length);
    producer.commit_run(length, kShape);
    return true;
  }
  std::vector<nic::ReceivedFrame> take(std::size_t most = 16) {
    producer.publish();
    std::vector<nic::ReceivedFrame> frames(most);
    frames.resize(consumer.receive(frames));
    return frames;
  }
  /// Of the slot's beginning.
  void overwrite(std::size_t slot, std::uint32_t length, std::uint16_t mtu) {
    std::byte* const at = memory.bytes().data() + kFirstSlot + slot * kGeometry.slot_bytes();
    std::memcpy(at, &length, sizeof(length));
    std::memcpy(at + sizeof(length), &mtu, sizeof(mtu));
  }

  RingMemory memory = std::move(RingMemory::create(kGeometry.bytes()).value());
  RingProducer producer{memory.bytes(), kGeometry};
  RingConsumer consumer{memory.bytes(), kGeometry};
};

TEST_F(FrameRingWithRuns, GivesThemBetweenFrames) {
  ASSERT_TRUE(put(1) && put_run(2, 900) && put(3));
  const auto frames = take();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_FALSE(frames[0].shape().is_run());
  EXPECT_EQ(frames[0].shape().packets, 1u);
  EXPECT_EQ(frames[1].shape().mtu, transport::PathMtu::k256);
  EXPECT_EQ(frames[1].shape().packets, 3u);
  EXPECT_FALSE(frames[1].has_icrc());
  ASSERT_EQ(frames[1].size(), 900u);
  for (const std::byte each : frames[1]) ASSERT_EQ(each, std::byte{2});
  EXPECT_FALSE(frames[2].shape().is_run()) << "what a run left in the slot does not count";
  EXPECT_EQ(frames[2].front(), std::byte{3});
}

TEST_F(FrameRingWithRuns, HasRoomForThemWhereSlotsFollowEachOther) {
  producer.reserve();
  EXPECT_EQ(producer.run_bytes(), 4 * kGeometry.slot_bytes() - 10);
  for (std::uint8_t i = 0; i < 14; ++i) ASSERT_TRUE(put(i));
  producer.reserve();
  EXPECT_EQ(producer.run_bytes(), 2 * kGeometry.slot_bytes() - 10) << "the ring's end";
  take();
  ASSERT_TRUE(put_run(1, 2 * kGeometry.slot_bytes() - 10));
  take();
  producer.reserve();
  EXPECT_EQ(producer.run_bytes(), 4 * kGeometry.slot_bytes() - 10);
  for (std::uint8_t i = 0; i < 12; ++i) ASSERT_TRUE(put(i));
  producer.reserve();
  EXPECT_EQ(producer.run_bytes(), 2 * kGeometry.slot_bytes() - 10) << "the last two are not given back yet";
}

TEST_F(FrameRingWithRuns, CountsTheirSlots) {
  ASSERT_TRUE(put_run(1, 900) && put(2));
  EXPECT_EQ(producer.committed_slots(), 5u);
  EXPECT_EQ(producer.count_untaken(), 5u);
  take();
  take();
  EXPECT_EQ(producer.count_untaken(), 0u);
}

TEST_F(FrameRingWithRuns, TakesNoMoreSlotsThanFramesAreWanted) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(put_run(static_cast<std::uint8_t>(i), 900));
  EXPECT_EQ(take(5).size(), 2u) << "the second began below five slots";
  EXPECT_EQ(take(4).size(), 1u);
  EXPECT_EQ(take(1).size(), 1u);
}

TEST_F(FrameRingWithRuns, ThatMustHaveIcrcsGivesNone) {
  ASSERT_TRUE(put_run(2, 100) && put(3));
  producer.publish();
  RingConsumer other(memory.bytes(), kGeometry, true);
  std::array<nic::ReceivedFrame, 4> frames;
  ASSERT_EQ(other.receive(frames), 1u);
  EXPECT_EQ(frames[0].front(), std::byte{3});
  EXPECT_EQ(other.malformed_frames(), 1u);
}

TEST_F(FrameRingWithRuns, LeavesOutImpossibleOnes) {
  constexpr std::uint32_t kLacksIcrc = 1u << 31;
  struct Lie {
    std::uint32_t length;
    std::uint16_t mtu;
    const char* what;
  };
  for (const Lie& lie : {
           Lie{kLacksIcrc | 1000, 0, "longer than a frame"},
           Lie{900, 256, "with an ICRC"},
           Lie{kLacksIcrc | 13, 256, "shorter than its headers"},
           Lie{kLacksIcrc | 900, 255, "no MTU"},
           Lie{kLacksIcrc | 900, 128, "no MTU"},
           Lie{kLacksIcrc | 900, 8192, "no MTU"},
           Lie{kLacksIcrc | 900, 0xffff, "no MTU"},
           Lie{kLacksIcrc | (kMaxRunBytes + 1), 256, "too long"},
           Lie{~0u, 256, "too long"},
           Lie{kLacksIcrc | 1300, 256, "in slots that were not shown"},
       }) {
    const std::uint64_t begin = producer.committed_slots();
    const std::uint64_t malformed = consumer.malformed_frames();
    for (std::uint8_t i = 0; i < 5; ++i) ASSERT_TRUE(put(i));
    overwrite(begin % kGeometry.slots, lie.length, lie.mtu);
    EXPECT_EQ(take(8).size(), 4u) << lie.what;
    EXPECT_EQ(consumer.malformed_frames(), malformed + 1) << lie.what;
    take();
  }
}

TEST_F(FrameRingWithRuns, LeavesOutOneOverTheRingsEnd) {
  for (std::uint8_t i = 0; i < 15; ++i) ASSERT_TRUE(put(i));
  take();
  take();
  ASSERT_TRUE(put(1) && put(2) && put(3));
  overwrite(15, 1u << 31 | 300, 256);
  const auto frames = take();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].front(), std::byte{2});
}

// As below.
TEST_F(FrameRingWithRuns, SurviveAnyContents) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 5000; ++round) {
    const std::uint64_t word = round % 3 == 0 ? random() : random() % 40;
    std::memcpy(memory.bytes().data() + random() % 32 * 8, &word, sizeof(word));
    const std::array<std::uint16_t, 4> mtus{0, 256, 4096, static_cast<std::uint16_t>(random())};
    overwrite(random() % kGeometry.slots,
              static_cast<std::uint32_t>(random() % 2 << 31 | random() >> (random() % 33 + 31)),
              mtus[random() % 4]);
    RingProducer each_producer(memory.bytes(), kGeometry);
    RingConsumer each_consumer(memory.bytes(), kGeometry);
    for (int i = 0; i < 6; ++i) {
      if (const auto room = each_producer.reserve(); !room.empty()) {
        const std::size_t run_bytes = each_producer.run_bytes();
        ASSERT_LE(room.data() + run_bytes, memory.bytes().data() + memory.bytes().size());
        std::memset(room.data(), 1, run_bytes);
        each_producer.commit_run(1 + random() % run_bytes, kShape);
      }
      each_producer.publish();
      std::array<nic::ReceivedFrame, 16> frames;
      const std::size_t count = each_consumer.receive(frames);
      for (const auto frame : std::span(frames).first(count)) {
        ASSERT_GE(frame.data(), memory.bytes().data() + kFirstSlot);
        ASSERT_LE(frame.data() + frame.size(), memory.bytes().data() + memory.bytes().size());
      }
    }
  }
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
