// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Parameters that change under a controller that runs: it goes by the new ones, and its state stays.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "transport/congestion/choice.h"
#include "transport/congestion/dcqcn.h"
#include "transport/congestion/pacer.h"

namespace urnic::transport::congestion {
namespace {

using namespace std::chrono_literals;

constexpr Time kZero{1h};
constexpr BitsPerSecond kLineRate = 10'000 * kMegabit;

/// The rate is cut once, 5 us after kZero. Increases come each 300 us after that; the first one adds
/// `rpg_ai_rate`.
class DcqcnInFlight : public testing::Test {
 protected:
  DcqcnInFlight() {
    dcqcn_.on_cnp(kZero);
    dcqcn_.allowance(kZero + 5us);
  }
  void set(const Choice& choice, Time now) { dcqcn_.update(choice, now); }
  static Choice with(const DcqcnParameters& parameters, BitsPerSecond line_rate = kLineRate) {
    return {.parameters = parameters, .line_rate = line_rate};
  }
  static DcqcnParameters initial() { return {.rpg_threshold = 0, .rpg_min_dec_fac = 0}; }

  Dcqcn dcqcn_{kLineRate, initial()};
};

TEST_F(DcqcnInFlight, TakesTheNewAdditiveStepAtItsNextIncrease) {
  DcqcnParameters parameters = initial();
  parameters.rpg_max_rate = 6000;  // room above the target
  set(with(parameters), kZero + 6us);
  const BitsPerSecond rate = dcqcn_.rate();
  const std::uint32_t alpha = dcqcn_.alpha();
  ASSERT_EQ(dcqcn_.target(), 6000 * kMegabit);
  parameters.rpg_max_rate = 0;
  parameters.rpg_ai_rate = 1000;
  set(with(parameters), kZero + 7us);
  EXPECT_EQ(dcqcn_.rate(), rate);
  EXPECT_LE(dcqcn_.alpha(), alpha);
  EXPECT_GT(dcqcn_.alpha(), alpha * 9 / 10) << "its alpha stays, except for what two microseconds take";
  dcqcn_.allowance(kZero + 304us);
  EXPECT_EQ(dcqcn_.rate(), rate) << "the timer is the one that ran";
  dcqcn_.allowance(kZero + 305us);
  EXPECT_EQ(dcqcn_.target(), 7000 * kMegabit);
  EXPECT_EQ(dcqcn_.rate(), (rate + 7000 * kMegabit) / 2);
}

TEST_F(DcqcnInFlight, IsClampedToALowerLineRate) {
  set(with(initial(), 1000 * kMegabit), kZero + 6us);
  EXPECT_EQ(dcqcn_.rate(), 1000 * kMegabit);
  EXPECT_EQ(dcqcn_.target(), 1000 * kMegabit);
}

TEST_F(DcqcnInFlight, IsRaisedToAHigherLeastRate) {
  DcqcnParameters parameters = initial();
  parameters.rpg_min_rate = 8000;
  set(with(parameters), kZero + 6us);
  EXPECT_EQ(dcqcn_.rate(), 8000 * kMegabit);
  EXPECT_EQ(dcqcn_.target(), kLineRate);
}

TEST_F(DcqcnInFlight, TakesANewPeriodBehindTheTickThatIsDue) {
  DcqcnParameters parameters = initial();
  parameters.rpg_time_reset = 10;
  set(with(parameters), kZero + 6us);
  dcqcn_.allowance(kZero + 304us);
  EXPECT_EQ(dcqcn_.stage(), 0u);
  dcqcn_.allowance(kZero + 305us);
  EXPECT_EQ(dcqcn_.stage(), 1u);
  dcqcn_.allowance(kZero + 316us);
  EXPECT_EQ(dcqcn_.stage(), 2u);
}

TEST_F(DcqcnInFlight, IsNotChangedByParametersOfAnotherController) {
  const BitsPerSecond rate = dcqcn_.rate();
  set({.parameters = FixedParameters{.rate = 1}, .line_rate = kMegabit}, kZero + 6us);
  EXPECT_EQ(dcqcn_.rate(), rate);
  EXPECT_EQ(dcqcn_.target(), kLineRate);
}

// A counter of 1 byte would otherwise make up for 32767 increases at the next packet.
TEST_F(DcqcnInFlight, MakesUpForNoStepsOfAShorterByteCounter) {
  DcqcnParameters parameters = initial();
  parameters.rpg_byte_reset = 32768;
  set(with(parameters), kZero + 6us);
  dcqcn_.on_send(32767, kZero + 6us);
  ASSERT_EQ(dcqcn_.byte_stage(), 0u);
  parameters.rpg_byte_reset = 1;
  set(with(parameters), kZero + 7us);
  dcqcn_.on_send(1, kZero + 7us);
  EXPECT_EQ(dcqcn_.byte_stage(), 1u);
}

TEST(DcqcnWithoutCnps, HasTheNewLineRate) {
  Dcqcn dcqcn(kLineRate, {});
  for (const std::uint32_t max : {200u, 0u}) {
    dcqcn.update({.parameters = DcqcnParameters{.rpg_max_rate = max}, .line_rate = kLineRate}, kZero);
    EXPECT_EQ(dcqcn.allowance(kZero).rate, max == 0 ? kLineRate : max * kMegabit);
  }
}

TEST(OtherControllers, GoByNewParametersOfTheirOwn) {
  const Choice timely{.parameters = TimelyParameters{}, .line_rate = kLineRate};
  const Choice swift{.parameters = SwiftParameters{.max_window = 10 * 1024}, .line_rate = kLineRate};
  const Choice fixed{.parameters = FixedParameters{.rate = 5}, .line_rate = kLineRate};
  const auto made = [](const Choice& choice) { return make_controller(choice, 1024); };
  const auto timely_runs = made(timely);
  const auto swift_runs = made(swift);
  const auto fixed_runs = made(fixed);
  for (const auto& controller : {timely_runs.get(), swift_runs.get(), fixed_runs.get()}) {
    const Allowance before = controller->allowance(kZero);
    controller->update({.parameters = DcqcnParameters{.rpg_max_rate = 1}, .line_rate = kMegabit}, kZero);
    EXPECT_EQ(controller->allowance(kZero).rate, before.rate);
    EXPECT_EQ(controller->allowance(kZero).window_bytes, before.window_bytes);
  }
  timely_runs->update({.parameters = TimelyParameters{}, .line_rate = 300 * kMegabit}, kZero);
  swift_runs->update({.parameters = SwiftParameters{.max_window = 2 * 1024}}, kZero);
  fixed_runs->update({.parameters = FixedParameters{.rate = 7}}, kZero);
  EXPECT_EQ(timely_runs->allowance(kZero).rate, 300 * kMegabit);
  EXPECT_EQ(swift_runs->allowance(kZero).window_bytes, 2 * 1024u);
  EXPECT_EQ(fixed_runs->allowance(kZero).rate, 7 * kMegabit);
}

TEST(Pacer, HandsNewParametersToItsController) {
  Pacer pacer;
  const Choice slower{.parameters = FixedParameters{.rate = 7}};
  pacer.update(slower, kZero);  // has none
  EXPECT_FALSE(pacer.state(kZero));
  pacer.start(make_controller({.parameters = FixedParameters{.rate = 5}}, 1024));
  pacer.update(slower, kZero);
  EXPECT_EQ(pacer.state(kZero)->allowance.rate, 7 * kMegabit);
}

}  // namespace
}  // namespace urnic::transport::congestion
