// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Times until a peer that does not answer is given up, in milliseconds, against those that the public fault
// characterization of unionxic has measured.
#include "nic/personality/ack_timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace urnic::nic {
namespace {

double milliseconds_of(AckTimers timers, unsigned timeout, unsigned retries) {
  const auto schedule =
      retry_schedule(timers, static_cast<std::uint8_t>(timeout), static_cast<std::uint8_t>(retries));
  transport::Duration all{0};
  for (std::size_t i = 0; i < schedule.count; ++i) all += schedule.waits[i];
  return std::chrono::duration<double, std::milli>(all).count();
}

/// How often something is sent again.
std::size_t repetitions_of(AckTimers timers, unsigned timeout, unsigned retries) {
  const auto schedule =
      retry_schedule(timers, static_cast<std::uint8_t>(timeout), static_cast<std::uint8_t>(retries));
  return std::min<std::size_t>(schedule.count - 1, schedule.sending);
}

struct Measured {
  unsigned timeout;
  unsigned retries;
  double milliseconds;
};

TEST(AckTimersOfConnectX6, EndAsMeasured) {
  constexpr Measured kMeasured[] = {{14, 7, 3661.8},  {8, 7, 3661.8},   {16, 7, 3661.8}, {17, 7, 7151.7},
                                    {18, 7, 14667.8}, {19, 7, 29700.8}, {20, 7, 59766},  {14, 1, 440},
                                    {14, 2, 977},     {14, 3, 1514},    {14, 4, 2051},   {14, 5, 2588},
                                    {14, 6, 3125},    {14, 0, 2050}};
  for (const Measured& row : kMeasured) {
    EXPECT_NEAR(milliseconds_of(AckTimers::kConnectX6, row.timeout, row.retries), row.milliseconds, 2)
        << row.timeout << ' ' << row.retries;
  }
}

// 10 to 13 transmissions with the first one, and 16 or 17 with a timeout of 20.
TEST(AckTimersOfConnectX6, SendAgainMoreOftenThanRetryCount) {
  EXPECT_EQ(repetitions_of(AckTimers::kConnectX6, 14, 7), 12u);
  EXPECT_EQ(repetitions_of(AckTimers::kConnectX6, 20, 7), 16u);
}

// As the NIC counts them: 4 to 8 early ones and 6 timeouts with 7 retries.
TEST(AckTimersOfBoth, SayWhichWaitsAreEarly) {
  for (const AckTimers timers : {AckTimers::kConnectX5, AckTimers::kConnectX6}) {
    const auto schedule = retry_schedule(timers, 14, 7);
    EXPECT_EQ(schedule.early, 7);
    EXPECT_EQ(schedule.count - schedule.early, 6);
  }
  EXPECT_EQ(retry_schedule(AckTimers::kConnectX6, 20, 7).early, 11);
}

TEST(AckTimersOfConnectX6, SendAgainWithoutARetry) {
  EXPECT_EQ(repetitions_of(AckTimers::kConnectX6, 14, 0), 7u);
}

TEST(AckTimersOfConnectX5, EndAsMeasured) {
  constexpr Measured kMeasured[] = {{14, 0, 428}, {14, 3, 2038}, {14, 7, 3650}, {8, 7, 3650}};
  for (const Measured& row : kMeasured) {
    EXPECT_NEAR(milliseconds_of(AckTimers::kConnectX5, row.timeout, row.retries), row.milliseconds, 2)
        << row.timeout << ' ' << row.retries;
  }
}

TEST(AckTimers, HaveNoScheduleWhereNominalTimesHold) {
  EXPECT_EQ(retry_schedule(AckTimers::kNominal, 14, 7).count, 0);
  EXPECT_EQ(retry_schedule(AckTimers::kConnectX6, 0, 7).count, 0) << "0 waits forever";
}

TEST(AckTimers, FitInASchedule) {
  for (unsigned timeout = 1; timeout < 32; ++timeout) {
    for (unsigned retries = 0; retries < 8; ++retries) {
      EXPECT_LE(repetitions_of(AckTimers::kConnectX5, timeout, retries), transport::RetrySchedule::kMost);
      EXPECT_LE(repetitions_of(AckTimers::kConnectX6, timeout, retries), transport::RetrySchedule::kMost);
    }
  }
}

}  // namespace
}  // namespace urnic::nic
