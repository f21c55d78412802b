// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters of flow rules.
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "tests/unit/verbs_api/raw_packet_objects.h"

namespace urnic::test {
namespace {

using CountersPtr = std::unique_ptr<ibv_counters, Destroy<ibv_destroy_counters>>;

/// Attributes of a rule for UDP to kUdpPort, which no late frame of another test has. A fourth specification
/// follows the others without a gap, and says where to count.
class CountingRule {
 public:
  explicit CountingRule(ibv_counters* counters) {
    Rule rule = udp_rule();
    rule.attr.size = sizeof(bytes_);
    ++rule.attr.num_of_specs;
    const ibv_flow_spec_counter_action count{.type = IBV_FLOW_SPEC_ACTION_COUNT,
                                             .size = sizeof(ibv_flow_spec_counter_action),
                                             .counters = counters};
    std::memcpy(bytes_.data(), &rule, kBefore);
    std::memcpy(bytes_.data() + kBefore, &count, sizeof(count));
  }
  ibv_flow_attr* attributes() { return reinterpret_cast<ibv_flow_attr*>(bytes_.data()); }

 private:
  static constexpr std::size_t kBefore = sizeof(Rule);
  alignas(ibv_flow_attr) std::array<std::byte, kBefore + sizeof(ibv_flow_spec_counter_action)> bytes_{};
};

class FlowCounters : public RawPacket {
 protected:
  CountersPtr create_counters() {
    ibv_counters_init_attr attributes{};
    CountersPtr counters(ibv_create_counters(context_.get(), &attributes));
    EXPECT_NE(counters, nullptr);
    return counters;
  }
  static int attach(ibv_counters* counters, ibv_counter_description what, std::uint32_t index,
                    ibv_flow* flow = nullptr) {
    ibv_counter_attach_attr attributes{.counter_desc = what, .index = index, .comp_mask = 0};
    return ibv_attach_counters_point_flow(counters, &attributes, flow);
  }
  FlowPtr add(CountingRule rule) { return FlowPtr(ibv_create_flow(b_.get(), rule.attributes())); }
};

TEST_F(FlowCounters, CountPacketsAndBytesOfTheirRule) {
  const CountersPtr counters = create_counters();
  ASSERT_EQ(attach(counters.get(), IBV_COUNTER_BYTES, 0), 0);
  ASSERT_EQ(attach(counters.get(), IBV_COUNTER_PACKETS, 2), 0);
  const FlowPtr flow = add(CountingRule(counters.get()));
  ASSERT_NE(flow, nullptr);
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge()}), 0);
    ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
    EXPECT_EQ(next_completion(cq_b_.get()).status, IBV_WC_SUCCESS);
  }
  std::array<std::uint64_t, 4> values{9, 9, 9, 9};
  ASSERT_EQ(ibv_read_counters(counters.get(), values.data(), 4, 0), 0);
  EXPECT_EQ(values, (std::array<std::uint64_t, 4>{300, 0, 3, 0}));
  values.fill(9);
  ASSERT_EQ(ibv_read_counters(counters.get(), values.data(), 1, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
  EXPECT_EQ(values, (std::array<std::uint64_t, 4>{300, 9, 9, 9})) << "no more than the program asked for";
}

TEST_F(FlowCounters, AreBusyWhileARuleCountsThere) {
  CountersPtr counters = create_counters();
  FlowPtr flow = add(CountingRule(counters.get()));
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(ibv_destroy_counters(counters.get()), EBUSY);
  flow.reset();
  counters.reset();  // expects that nothing keeps them
}

TEST_F(FlowCounters, OfARuleHaveToBeOfTheContext) {
  std::array<std::byte, 64> nothing{};
  for (void* const where : {static_cast<void*>(nullptr), static_cast<void*>(nothing.data()),
                            reinterpret_cast<void*>(std::uintptr_t{0x5555})}) {
    CountingRule rule(static_cast<ibv_counters*>(where));
    EXPECT_EQ(try_to_add(rule.attributes()), EINVAL);
  }
  const ContextPtr elsewhere = open_device();
  ibv_counters_init_attr attributes{};
  const CountersPtr others(ibv_create_counters(elsewhere.get(), &attributes));
  CountingRule rule(others.get());
  EXPECT_EQ(try_to_add(rule.attributes()), EINVAL);
}

TEST_F(FlowCounters, RefuseWhatNobodyKnows) {
  ibv_counters_init_attr strange{.comp_mask = 1};
  errno = 0;
  EXPECT_EQ(ibv_create_counters(context_.get(), &strange), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const CountersPtr counters = create_counters();
  EXPECT_EQ(attach(counters.get(), static_cast<ibv_counter_description>(2), 0), EINVAL);
  ibv_counter_attach_attr masked{.counter_desc = IBV_COUNTER_BYTES, .index = 0, .comp_mask = 1};
  EXPECT_EQ(ibv_attach_counters_point_flow(counters.get(), &masked, nullptr), EINVAL);
  EXPECT_EQ(ibv_attach_counters_point_flow(counters.get(), nullptr, nullptr), EINVAL);
  std::uint64_t value = 0;
  EXPECT_EQ(ibv_read_counters(counters.get(), &value, 1, 2), EINVAL);
  EXPECT_EQ(ibv_read_counters(counters.get(), nullptr, 1, 0), EINVAL);
  EXPECT_EQ(ibv_read_counters(counters.get(), nullptr, 0, 0), 0);
}

TEST_F(FlowCounters, CannotBeAttachedToARuleThatIsThere) {
  const CountersPtr counters = create_counters();
  const FlowPtr flow = add(CountingRule(counters.get()));
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(attach(counters.get(), IBV_COUNTER_BYTES, 0, flow.get()), EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
