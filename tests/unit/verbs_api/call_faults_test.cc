// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which calls the faults of calls hit, and what people are told.
#include "verbs_api/fault/call_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "verbs_api/fault/event_raising.h"

namespace urnic::verbs_api {
namespace {

std::atomic<int> events_raised{0};
std::atomic<int> events_ended{0};

/// Faults of a process of its own, and calls.
class FaultsOf {
 public:
  explicit FaultsOf(const char* text) { faults_.use(FaultList::parse(text).value()); }

  CallFaults* operator->() { return &faults_; }

  /// By call, from 1: what happens to so many.
  std::vector<int> errors_of(Verb verb, int calls) {
    std::vector<int> errors;
    for (int i = 0; i < calls; ++i) {
      const CallFault* const fault = faults_.strike(verb);
      errors.push_back(fault != nullptr ? fault->error : 0);
    }
    return errors;
  }

 private:
  CallFaults faults_;
};

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CallFaults, HitTheNthCallAndSoManyAfterIt) {
  FaultsOf faults("verb:ibv_post_send=ENOMEM:nth=2:times=2");
  EXPECT_THAT(faults.errors_of(Verb::kPostSend, 5), ElementsAre(0, ENOMEM, ENOMEM, 0, 0));
}

TEST(CallFaults, LeaveOtherCallsAlone) {
  FaultsOf faults("verb:ibv_post_send=ENOMEM:times=all");
  EXPECT_THAT(faults.errors_of(Verb::kPostRecv, 2), ElementsAre(0, 0));
  EXPECT_THAT(faults.errors_of(Verb::kPostSend, 2), ElementsAre(ENOMEM, ENOMEM));
  EXPECT_TRUE(faults->concerns(Verb::kPostSend));
  EXPECT_FALSE(faults->concerns(Verb::kPostRecv));
}

TEST(CallFaults, CountTogetherWhatFitsEachOfThem) {
  FaultsOf faults("verb:ibv_reg_mr=ENOMEM:nth=2,verb:ibv_reg_mr=EPERM:nth=2:times=2");
  EXPECT_THAT(faults.errors_of(Verb::kRegMr, 3), ElementsAre(0, ENOMEM, EPERM)) << "the first one decides";
}

TEST(CallFaults, CountTransitionsToTheNamedStateOnly) {
  FaultsOf faults("verb:ibv_modify_qp=EINVAL:to=RTR:nth=2");
  const auto modify = [&](std::optional<ibv_qp_state> to) {
    return faults->strike(Verb::kModifyQp, to) != nullptr;
  };
  EXPECT_FALSE(modify(IBV_QPS_INIT));
  EXPECT_FALSE(modify(IBV_QPS_RTR));
  EXPECT_FALSE(modify(std::nullopt));
  EXPECT_TRUE(modify(IBV_QPS_RTR));
}

TEST(CallFaults, ThrowTheSameDiceForTheSameSeed) {
  FaultsOf faults("verb:ibv_post_send=EIO:p=0.3,seed=5");
  FaultsOf same("verb:ibv_post_send=EIO:p=0.3,seed=5");
  FaultsOf other("verb:ibv_post_send=EIO:p=0.3,seed=6");
  const auto errors = faults.errors_of(Verb::kPostSend, 1000);
  EXPECT_EQ(errors, same.errors_of(Verb::kPostSend, 1000));
  EXPECT_NE(errors, other.errors_of(Verb::kPostSend, 1000));
  const auto hits = std::count(errors.begin(), errors.end(), EIO);
  EXPECT_GT(hits, 200);
  EXPECT_LT(hits, 400);
}

TEST(CallFaults, TellCompletionsOfSendsFromReceives) {
  FaultsOf faults("verb:ibv_poll_cq:status=LOC_LEN_ERR:kind=receive:nth=2");
  EXPECT_TRUE(faults->has_statuses());
  EXPECT_EQ(faults->strike(Verb::kPollCq), nullptr) << "the call itself succeeds";
  EXPECT_EQ(faults->strike_completion(true), std::nullopt);
  EXPECT_EQ(faults->strike_completion(false), std::nullopt);
  EXPECT_EQ(faults->strike_completion(true), IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(faults->strike_completion(true), std::nullopt);
}

TEST(CallFaults, SayWhenTheyFiredOrWhyNot) {
  FaultsOf faults(
      "verb:ibv_reg_mr=EIO:nth=2,verb:ibv_post_send=EIO:nth=9,verb:ibv_modify_qp=EIO:to=SQD,"
      "verb:ibv_poll_cq:status=FATAL_ERR:nth=2,async:PORT_ERR:call=ibv_post_send:nth=9,"
      "async:PORT_ERR:after=1s");
  faults.errors_of(Verb::kRegMr, 3);
  faults.errors_of(Verb::kPostSend, 4);
  faults->strike(Verb::kModifyQp, IBV_QPS_RTR);
  faults->strike_completion(true);
  EXPECT_THAT(
      faults->end(),
      ElementsAre(
          "fault verb:ibv_reg_mr=EIO:nth=2 fired once, first at call 2: ibv_reg_mr was called 3 times",
          "fault verb:ibv_post_send=EIO:nth=9 did not fire: ibv_post_send was called 4 times",
          "fault verb:ibv_modify_qp=EIO:to=SQD did not fire: ibv_modify_qp was called once, and 0 of "
          "these fit",
          "fault verb:ibv_poll_cq:status=FATAL_ERR:nth=2 did not fire: the program polled 1 completion",
          "fault async:PORT_ERR:call=ibv_post_send:nth=9 did not fire: ibv_post_send was called 4 times",
          "fault async:PORT_ERR:after=1s did not fire: the device was not opened"));
  EXPECT_THAT(faults->end(), ElementsAre()) << "it is told once";
}

TEST(CallFaults, RaiseAnEventJustBeforeTheNamedCall) {
  FaultsOf faults("async:PORT_ERR:call=ibv_post_send:nth=3");
  const int before = events_raised;
  faults.errors_of(Verb::kPostSend, 2);
  EXPECT_EQ(events_raised, before);
  faults.errors_of(Verb::kPostSend, 4);
  EXPECT_EQ(events_raised, before + 1);
  EXPECT_THAT(faults->end(), ElementsAre("fault async:PORT_ERR:call=ibv_post_send:nth=3 fired"));
}

TEST(CallFaults, RaiseAnEventWhenItsTimeComesAndEndIt) {
  FaultsOf faults("async:PORT_ERR:after=20ms:for=20ms");
  const int before = events_ended;
  ASSERT_TRUE(faults->start_clock());
  for (int i = 0; i < 500 && events_ended == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(events_ended, before + 1);
  EXPECT_THAT(faults->end(), ElementsAre("fault async:PORT_ERR:after=20ms:for=20ms fired"));
}

TEST(CallFaults, DoNotWaitForTheTimeOfAnEventAtTheEnd) {
  FaultsOf faults("async:PORT_ERR:after=1000s");
  ASSERT_TRUE(faults->start_clock());
  EXPECT_THAT(faults->end(), ElementsAre(HasSubstr("did not fire: the program ended ")));
}

TEST(CallFaults, FailWhatNeedsADeadDevice) {
  FaultsOf faults("async:DEVICE_FATAL:after=1000s");
  EXPECT_TRUE(faults->concerns(Verb::kPostSend));
  EXPECT_FALSE(faults->concerns(Verb::kPollCq)) << "completions can still be polled";
  faults->kill_device();
  EXPECT_THAT(faults.errors_of(Verb::kRegMr, 2), ElementsAre(EIO, EIO));
  EXPECT_THAT(faults.errors_of(Verb::kCmConnect, 1), ElementsAre(ENODEV));
  EXPECT_THAT(faults.errors_of(Verb::kDestroyQp, 1), ElementsAre(0));
}

TEST(CallFaults, AreGoneInAForkedChild) {
  FaultsOf faults("verb:ibv_reg_mr=EIO:times=all");
  {
    const std::lock_guard lock(faults->mutex());
    faults->abandon_in_child();
  }
  EXPECT_FALSE(faults->has_any());
  EXPECT_THAT(faults.errors_of(Verb::kRegMr, 1), ElementsAre(0));
  EXPECT_THAT(faults->end(), ElementsAre());
}

}  // namespace

CallFaults& call_faults() {
  static CallFaults faults;
  return faults;
}

std::string raise_event(const AsyncFault&) {
  ++events_raised;
  return {};
}

void end_event(const AsyncFault&) {
  ++events_ended;
}

}  // namespace urnic::verbs_api
