// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Windows: the memory windows that one end of a pair opens for its peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/scenario/plan.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "transport/work_request.h"

namespace urnic::sim {

/// Two windows, one of each type. Their owner binds them by work requests and, once those have completed, the
/// peer may use their keys; a type 2 window is taken back by its owner (LOCAL_INV) or by the peer (SEND with
/// invalidate).
class Windows {
 public:
  enum class State : std::uint8_t { kClosed, kOpening, kOpen, kClosing };

  struct Window {
    nic::WindowType type{};
    State state = State::kClosed;
    transport::Rkey key{};  ///< while opening, the one it will have
    Range range{};
    transport::Access access{};
    bool is_zero_based = false;
    std::vector<std::uint64_t> users{};  ///< wr_ids of the peer's work requests that use the key
  };
  static constexpr std::size_t kType1 = 0;
  static constexpr std::size_t kType2 = 1;

  explicit Windows(Host& host);
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  Window& at(std::size_t index) { return windows_[index]; }

  /// The connection has ended; whatever state the windows are in, they are given back for new ones.
  void renew();

  /// How a window may be bound now, to a part of the shared region; nothing when it must not be. A type 1
  /// window that is open is bound again or closed; with `heedless` even though the peer uses it.
  struct Plan {
    Window window;
    transport::WindowBinding binding;
  };
  std::optional<Plan> plan(std::size_t index, Random& random, bool heedless) const;
  /// The work request for the plan was posted.
  void on_posted(std::size_t index, const Plan& plan);
  /// It has been done.
  void on_bound(std::size_t index);
  /// No operation can use the type 2 window any more.
  void on_taken_back() { windows_[kType2].state = State::kClosed; }

  /// An open window that the operation may use.
  std::optional<std::size_t> find_for(const Operation& operation) const;
  std::optional<std::size_t> any_open() const;
  /// The address by which users of a window know `offset` of the shared region.
  std::uint64_t address(std::size_t index, std::uint32_t offset) const;

 private:
  void allocate();
  void deallocate();

  Host& host_;
  std::array<Window, 2> windows_;
};

}  // namespace urnic::sim
