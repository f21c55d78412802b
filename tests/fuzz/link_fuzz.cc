// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: a ring of a direct link, between two ends of ours, whose memory a third hand changes at any
// moment.
//
// The input is a sequence of steps, each with a byte that says what it is (its low three bits) and a number
// (the others): a frame of that length is sent, from 24 on a run, or shown; frames are received, as many as
// the number; the consumer arms and disarms; a word of the control block, or the beginning of a slot, is
// overwritten with the eight bytes that follow; the next 32 bytes are read as a mark. What must hold: frames
// that are given, and rooms to write them, lie in the ring, do not overlap and have possible lengths; an end
// that finds the ring broken never gives or takes anything again; a mark that is understood is written as it
// was.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "drivers/direct/frame_ring.h"
#include "drivers/direct/mark.h"

namespace urnic::drivers {
namespace {

constexpr RingGeometry kGeometry{.slots = 8, .max_frame_bytes = 100};
constexpr std::size_t kSlotsAt = 4096;
constexpr std::size_t kShortest = 14;
constexpr std::size_t kMarkBytes = 32;
constexpr std::size_t kFirstRun = 24;
constexpr std::size_t kBytesOfRunStep = 25;

enum class Step : std::uint8_t {
  kSend,
  kShow,
  kReceive,
  kArm,
  kDisarm,
  kChangeControl,
  kChangeLength,
  kMark
};

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};

class Rig {
 public:
  void run(std::span<const std::byte> input) {
    while (!input.empty()) {
      const auto word = std::to_integer<std::uint8_t>(input[0]);
      input = input.subspan(1);
      play(static_cast<Step>(word & 7u), word >> 3, input);
    }
  }

 private:
  void play(Step step, std::size_t number, std::span<const std::byte>& input) {
    switch (step) {
      case Step::kSend:
        return number < kFirstRun ? send(kShortest + number * 2)
                                  : send_run((number - kFirstRun + 1) * kBytesOfRunStep);
      case Step::kShow:
        producer_.publish();
        return;
      case Step::kReceive:
        return receive(number % 8);
      case Step::kArm:
        return consumer_.arm();
      case Step::kDisarm:
        consumer_.disarm();
        consumer_.take_wake_up();
        return;
      case Step::kChangeControl:
        return change(number % 24 * 8, 8, input);
      case Step::kChangeLength:
        return change(kSlotsAt + number % kGeometry.slots * kGeometry.slot_bytes(), 8, input);
      case Step::kMark:
        return read_mark(input);
    }
  }

  void send(std::size_t length) {
    const bool was_broken = producer_.is_broken();
    const auto room = producer_.reserve();
    require(!(was_broken && !room.empty()), "a broken ring has no room");
    if (room.empty()) return;
    require(is_inside(room), "the room is in the ring");
    require(room.size() == kGeometry.max_frame_bytes, "the room is for any frame");
    std::memset(room.data(), static_cast<int>(length), length);
    producer_.commit(length);
  }

  void send_run(std::size_t length) {
    const auto room = producer_.reserve();
    if (room.empty()) return;
    const std::span<std::byte> run(room.data(), producer_.run_bytes());
    require(is_inside(run), "the room for a run is in the ring");
    length = std::clamp(length, kShortest, run.size());
    std::memset(run.data(), static_cast<int>(length), length);
    producer_.commit_run(length, {.mtu = transport::PathMtu::k256, .packets = 2});
  }

  void receive(std::size_t most) {
    const bool was_broken = consumer_.is_broken();
    std::array<nic::ReceivedFrame, 8> frames;
    const std::size_t count = consumer_.receive(std::span(frames).first(most));
    require(count <= most && count <= kGeometry.slots, "no more frames than fit");
    require(!(was_broken && count > 0), "a broken ring has no frames");
    const std::byte* end_of_last = nullptr;
    bool has_wrapped = false;
    for (const auto frame : std::span(frames).first(count)) {
      const std::size_t longest = frame.shape().is_run() ? kMaxRunBytes : kGeometry.max_frame_bytes;
      require(frame.size() >= kShortest && frame.size() <= longest, "a frame has a possible length");
      require(is_inside(frame), "a frame is in the ring");
      if (end_of_last != nullptr && frame.data() < end_of_last) {
        require(!has_wrapped, "frames do not overlap");
        has_wrapped = true;
      }
      end_of_last = frame.data() + frame.size();
    }
  }

  void change(std::size_t at, std::size_t size, std::span<const std::byte>& input) {
    size = std::min(size, input.size());
    std::memcpy(memory().data() + at, input.data(), size);
    input = input.subspan(size);
  }

  static void read_mark(std::span<const std::byte>& input) {
    const auto frame = input.first(std::min(kMarkBytes, input.size()));
    input = input.subspan(frame.size());
    std::array<std::byte, MarkForm::kMaxBytes> written;
    const MarkForm ethernet(nic::Medium::kEthernet, {});
    if (const auto mark = ethernet.parse(frame)) {
      ethernet.emit(*mark, written);
      constexpr std::size_t kTold = 26;  // what stands in it; zeros follow
      require(std::memcmp(written.data(), frame.data(), kTold) == 0, "a mark is written as it was");
    }
    const MarkForm ip(nic::Medium::kIp, transport::wire::Gid::from_ipv4({{127, 0, 0, 1}}));
    if (const auto mark = ip.parse(frame)) {
      const std::size_t bytes = ip.emit(*mark, written);
      require(ip.parse(std::span(written).first(bytes))->nonce == mark->nonce, "a mark is written as it was");
    }
  }

  std::span<std::byte> memory() { return std::as_writable_bytes(std::span(lines_)); }
  bool is_inside(std::span<const std::byte> part) {
    const auto all = memory().subspan(kSlotsAt);
    return part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size();
  }

  std::vector<Line> lines_ = std::vector<Line>(kGeometry.bytes() / sizeof(Line));
  RingProducer producer_{memory(), kGeometry};
  RingConsumer consumer_{memory(), kGeometry};
};

}  // namespace
}  // namespace urnic::drivers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::drivers::Rig rig;
  rig.run(std::as_bytes(std::span(data, size)));
  return 0;
}
