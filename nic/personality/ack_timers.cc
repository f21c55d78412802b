// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// As the public fault characterization of unionxic has measured it with the firmware's default settings
// (adaptive retransmission, and a floor under the timeout): a ConnectX-6 sends again early and at growing
// distances first, which together take one of the retries. The regular timeouts follow; after the last one it
// gives up. A ConnectX-5 does alike.
#include "nic/personality/ack_timers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "transport/rc/timing.h"

namespace urnic::nic {
namespace {

using transport::Duration;
using transport::RetrySchedule;

constexpr Duration tenths(std::int64_t tenths_of_a_millisecond) {
  return std::chrono::microseconds(100 * tenths_of_a_millisecond);
}

/// When the early repetitions leave, after the post. A timeout of 16 and less has seven, each code above it
/// has one more.
constexpr std::array<Duration, 11> kEarly = {tenths(125),   tenths(207),   tenths(377),  tenths(714),
                                             tenths(1384),  tenths(2391),  tenths(4404), tenths(9773),
                                             tenths(17824), tenths(39303), tenths(82251)};
constexpr std::size_t kFewestEarly = 7;
constexpr std::uint8_t kFloor = 16;  // of the timeout
constexpr Duration kConnectX5LastEarly = tenths(4290);
/// With retry_cnt 0 a ConnectX-6 was seen to send nothing but the early ones, and to give up as with 4.
constexpr unsigned kRegularOfNone = 3;
constexpr unsigned kMostRegularOfConnectX5 = 6;

class Maker {
 public:
  explicit Maker(std::size_t early) {
    for (std::size_t i = 0; i < early; ++i) wait_early_until(kEarly[i]);
  }
  void wait_early_until(Duration since_post) {
    wait(since_post - end_);
    ++schedule_.early;
  }
  void wait(Duration duration) {
    schedule_.waits[schedule_.count++] = duration;
    end_ += duration;
  }
  void send_nothing_more() { schedule_.sending = schedule_.count; }
  const RetrySchedule& schedule() const { return schedule_; }

 private:
  RetrySchedule schedule_;
  Duration end_{0};
};

RetrySchedule of_connectx6(std::uint8_t timeout, unsigned retry_count) {
  const std::uint8_t code = std::max(timeout, kFloor);
  const std::size_t early = std::min<std::size_t>(kFewestEarly + code - kFloor, kEarly.size());
  const Duration interval = 2 * transport::ack_timeout(code);
  const Duration next = early < kEarly.size() ? kEarly[early] - kEarly[early - 1] : interval;
  Maker maker(early);
  if (retry_count == 0) maker.send_nothing_more();
  const unsigned regular = retry_count == 0 ? kRegularOfNone : retry_count - 1;
  for (unsigned i = 0; i < regular; ++i) maker.wait(i == 0 ? std::min(next, interval) : interval);
  return maker.schedule();
}

/// Measured with retry_cnt 0, 3 and 7, and a timeout of at most 16. The early repetitions are
/// a ConnectX-6's, except for the last.
RetrySchedule of_connectx5(std::uint8_t timeout, unsigned retry_count) {
  if (timeout > kFloor) return of_connectx6(timeout, retry_count);
  Maker maker(kFewestEarly - 1);
  maker.wait_early_until(kConnectX5LastEarly);
  const unsigned regular = std::min(retry_count, kMostRegularOfConnectX5);
  for (unsigned i = 0; i < regular; ++i) maker.wait(2 * transport::ack_timeout(kFloor));
  return maker.schedule();
}

}  // namespace

RetrySchedule retry_schedule(AckTimers timers, std::uint8_t timeout, std::uint8_t retry_count) {
  if (timeout == 0) return {};
  switch (timers) {
    case AckTimers::kConnectX5:
      return of_connectx5(timeout, retry_count);
    case AckTimers::kConnectX6:
      return of_connectx6(timeout, retry_count);
    case AckTimers::kNominal:
      break;
  }
  return {};
}

}  // namespace urnic::nic
