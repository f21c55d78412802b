// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PostRun: whether a thread that posts will post or poll again at once.
#pragma once

#include <cstdint>

namespace urnic::nic {

/// A post may be left to the next one, or to a poll, so that several leave in one burst, only if that comes
/// at once: the program may compute next, or wait for what the peer writes, and nothing else would send the
/// post. So each thread's habit counts: how many posts directly followed each other, and whether it polled
/// directly afterwards.
///
/// Times come from Clock::ticks(). One thread.
class PostRun {
 public:
  static PostRun& of_this_thread();

  /// The thread posts. Whether it may be relied on to post again or to poll at once: it has always polled
  /// directly after its last few runs of posts, and has not posted as many yet as in the last one. Never for
  /// the first of a run.
  bool on_post(std::uint64_t now);
  /// The same post has been dealt with. What that took is not the program's time.
  void on_posted(std::uint64_t now) { last_ = now; }

  /// Whether it has posted since it polled.
  bool is_open() const { return length_ > 0; }
  /// The thread polls. Only if is_open().
  void on_poll(std::uint64_t now) { end(is_directly_after(now)); }

  /// As a thread that has posted nothing yet.
  void forget() { *this = {}; }

  /// What comes within so many ticks follows directly: some 300 ns.
  static constexpr std::uint64_t kDirectly = 900;
  /// After so many runs a thread's habit counts.
  static constexpr std::uint32_t kRunsThatCount = 4;

 private:
  bool is_directly_after(std::uint64_t now) const { return now - last_ <= kDirectly; }
  void end(bool is_polled_directly);

  std::uint64_t last_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t length_before_ = 0;    // of the last run
  std::uint32_t polled_directly_ = 0;  // the last runs in a row, as many as count
};

}  // namespace urnic::nic
