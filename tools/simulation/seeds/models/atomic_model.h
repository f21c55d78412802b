// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AtomicModel: the oracle that knows whether the atomics on one number can have been executed once each.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace urnic::sim {

/// A number of 64 bits that the requests of many queue pairs add to, or swap. What each of them found is
/// known when it completes. All numbers that are added and swapped in are random and different, so that the
/// number has no value twice: the atomic that found 17 came right after the one that left 17. So there is
/// one order at most in which the number can have changed: each request that succeeded exactly once, each
/// that failed at most once and before it failed, one queue pair's in the order in which they were posted;
/// and the last one left what is there now.
class AtomicModel {
 public:
  struct Request {
    bool is_swap = false;
    std::uint64_t compare = 0;
    std::uint64_t operand = 0;

    std::uint64_t applied_to(std::uint64_t value) const {
      if (!is_swap) return value + operand;
      return value == compare ? operand : value;
    }
  };

  explicit AtomicModel(std::uint64_t initial) : initial_(initial), likely_(initial) {}

  /// `queue` names a connection and direction; `id` is the work request's.
  void on_posted(std::uint64_t queue, std::uint64_t id, const Request& request);
  /// It found `original`. False when it then did not swap.
  bool on_succeeded(std::uint64_t id, std::uint64_t original);
  /// It failed or was flushed; it may have been executed before that.
  void on_failed(std::uint64_t id);

  /// What the number will be when everything posted is executed in the order in which it was posted: what a
  /// program might compare with.
  std::uint64_t likely_value() const { return likely_; }

  /// Nothing is outstanding and the number is `value` now.
  std::optional<std::string> judge(std::uint64_t value) const;

 private:
  enum class Fate : std::uint8_t { kOutstanding, kSucceeded, kFailed };
  static constexpr std::uint64_t kNotYet = std::numeric_limits<std::uint64_t>::max();

  struct Executed {
    std::uint64_t id = 0;
    Request request;
    Fate fate = Fate::kOutstanding;
    std::uint64_t original = 0;
    std::uint64_t posted = 0;  // when, in steps of our own
    std::uint64_t ended = kNotYet;
  };

  /// How far each queue has been executed, and what the number is then.
  struct Position {
    explicit Position(std::size_t queues, std::uint64_t initial)
        : next(queues), changes_before(queues), value(initial) {}

    std::vector<std::size_t> next;
    std::vector<std::uint64_t> changes_before;  // of the number, when the one before the next was executed
    std::uint64_t value;
    std::uint64_t time = 0;  // what was executed last was not posted before
    std::uint64_t changes = 0;
    std::uint64_t last_change_ended = kNotYet;  // the request that made it
  };

  bool is_possible(Position position, std::uint64_t value, std::uint32_t& budget) const;
  bool take_what_fits(Position& position, bool changes) const;
  void execute(Position& position, std::size_t queue) const;
  bool may_have_come_in_vain(const Position& position, std::size_t queue) const;
  bool is_end(const Position& position, std::uint64_t value) const;
  Executed* find(std::uint64_t id);

  std::uint64_t initial_;
  std::uint64_t likely_;
  std::uint64_t clock_ = 0;
  std::uint64_t outstanding_ = 0;
  std::map<std::uint64_t, std::size_t> queue_of_;  // queue to its place below
  std::vector<std::deque<Executed>> queues_;
};

}  // namespace urnic::sim
