// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Times of completions, and the clock that they are on.
#include <chrono>
#include <cstdint>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

std::uint64_t device_time(ibv_context* context) {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  EXPECT_EQ(ibv_query_rt_values_ex(context, &values), 0);
  EXPECT_EQ(values.comp_mask, std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK});
  EXPECT_EQ(values.raw_clock.tv_sec, 0);
  return static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
}

std::uint64_t wall_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(DeviceClock, CountsNanosecondsAndSaysSo) {
  const ContextPtr context = open_device();
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &attributes), 0);
  EXPECT_EQ(attributes.hca_core_clock, 1'000'000u);  // kHz
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t first = device_time(context.get());
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t ticks = device_time(context.get()) - first;
  const auto longest = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(ticks, 19'000'000u);
  EXPECT_LE(ticks, static_cast<std::uint64_t>(std::chrono::nanoseconds(longest).count()));
  EXPECT_EQ(first & ~attributes.completion_timestamp_mask, 0u);
  EXPECT_NE(attributes.completion_timestamp_mask, 0u);
}

TEST(DeviceClock, GivesNothingElse) {
  const ContextPtr context = open_device();
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | IBV_VALUES_MASK_RESERVED;
  EXPECT_EQ(ibv_query_rt_values_ex(context.get(), &values), EINVAL);
  EXPECT_EQ(ibv_query_rt_values_ex(context.get(), nullptr), EINVAL);
  values = {.comp_mask = 0, .raw_clock = {.tv_sec = 5, .tv_nsec = 6}};
  EXPECT_EQ(ibv_query_rt_values_ex(context.get(), &values), 0);
  EXPECT_EQ(values.comp_mask, 0u);
  EXPECT_EQ(values.raw_clock.tv_nsec, 6);
}

/// A connection of a device to itself whose completions, all in one queue, have times.
class CompletionTime : public testing::Test {
 protected:
  CompletionTime() {
    ibv_cq_init_attr_ex init_attr{};
    init_attr.cqe = 64;
    init_attr.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                         IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    extended_ = ibv_create_cq_ex(context_.get(), &init_attr);
    EXPECT_NE(extended_, nullptr);
    cq_.reset(ibv_cq_ex_to_cq(extended_));
    ibv_qp_init_attr attributes = rc_attributes(cq_.get());
    a_.reset(ibv_create_qp(pd_.get(), &attributes));
    b_.reset(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(connect(a_.get(), b_->qp_num), 0);
    EXPECT_EQ(connect(b_.get(), a_->qp_num), 0);
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  ibv_cq_ex* extended_ = nullptr;
  CqPtr cq_;
  QpPtr a_;
  QpPtr b_;
};

TEST_F(CompletionTime, LiesBetweenPostingAndPolling) {
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(post_receive(b_.get(), i, {}), 0);
    const std::uint64_t before = device_time(context_.get());
    const std::uint64_t wall_before = wall_time();
    ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND, i), {}), 0);
    for (int taken = 0; taken < 2; ++taken) {
      ibv_poll_cq_attr none{};
      while (ibv_start_poll(extended_, &none) == ENOENT) {
      }
      EXPECT_EQ(extended_->status, IBV_WC_SUCCESS);
      const std::uint64_t time = ibv_wc_read_completion_ts(extended_);
      const std::uint64_t wall = ibv_wc_read_completion_wallclock_ns(extended_);
      ibv_end_poll(extended_);
      EXPECT_GE(time, before);
      EXPECT_LE(time, device_time(context_.get()));
      EXPECT_GE(wall, wall_before);
      EXPECT_LE(wall, wall_time());
      EXPECT_GE(time, last);
      last = time;
    }
  }
}

// A program that asks for one of them has no function to read the other.
TEST_F(CompletionTime, IsReadOnTheClockThatWasAskedForAlone) {
  ibv_cq_init_attr_ex init_attr{};
  init_attr.cqe = 4;
  init_attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const device_only = ibv_create_cq_ex(context_.get(), &init_attr);
  ASSERT_NE(device_only, nullptr);
  EXPECT_NE(device_only->read_completion_ts, nullptr);
  EXPECT_EQ(device_only->read_completion_wallclock_ns, nullptr);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(device_only)), 0);
  init_attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* const wall_only = ibv_create_cq_ex(context_.get(), &init_attr);
  ASSERT_NE(wall_only, nullptr);
  EXPECT_EQ(wall_only->read_completion_ts, nullptr);
  EXPECT_NE(wall_only->read_completion_wallclock_ns, nullptr);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(wall_only)), 0);
}

}  // namespace
}  // namespace urnic::test
