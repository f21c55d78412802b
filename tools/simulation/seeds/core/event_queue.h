// EventQueue: what happens next in a simulated world.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tools/simulation/seeds/core/host_id.h"
#include "transport/time.h"

namespace urnic::sim {

using transport::Duration;
using transport::Time;

/// A frame on its way.
struct Frame {
  std::vector<std::byte> bytes;
  /// The receiver must not accept it: bits that the ICRC protects were changed, or its end is missing.
  bool damaged = false;
};

/// Owns frames and hands them out again, because a run moves tens of thousands of them.
class FramePool {
 public:
  Frame* take() {
    if (free_.empty()) {
      frames_.push_back(std::make_unique<Frame>());
      free_.push_back(frames_.back().get());
    }
    Frame* const frame = free_.back();
    free_.pop_back();
    frame->damaged = false;
    return frame;
  }
  void give_back(Frame* frame) { free_.push_back(frame); }
  /// Frames that were taken and not given back.
  std::size_t outstanding() const { return frames_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> free_;
};

struct Event {
  enum class Kind : std::uint8_t {
    kDeliver,       ///< `frame` reaches `host`
    kEnter,         ///< `frame` of `host` reaches the first queue of the network
    kPostSends,     ///< the application at `side`, or on `host`, posts to its send queue
    kPostReceives,  ///< the same for the receive queue
    kPostShared,    ///< `host` posts to its shared receive queue `traffic`
    kPairStep,      ///< the next step in the life of a pair: error, reset, connect
    kQueueStep,     ///< the send queue at `side`, or on `host`, is drained, or goes on
    kDeregister,    ///< the application on `host` deregisters memory that others may be using
    kCheckMemory,   ///< the memory oracle looks at everything
    kProgramStep,   ///< a program goes on that connects by rdma_cm
    kNothing,       ///< time passes
  };

  Time time{};
  std::uint64_t sequence = 0;
  Kind kind = Kind::kNothing;
  HostId host{};
  Side side{};
  std::uint32_t traffic = 0;  // which of the applications
  Frame* frame = nullptr;
};

/// Events by time; those of the same time in the order in which they were added, so that every run is the
/// same.
class EventQueue {
 public:
  void add(Event event) {
    event.sequence = next_sequence_++;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool is_empty() const { return heap_.empty(); }
  /// kNever when there is none.
  Time next_time() const { return heap_.empty() ? transport::kNever : heap_.front().time; }

  /// Removes the first event; there must be one.
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace urnic::sim
