// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ECE on a device that offers selective repeat. Each test is a process: the device is told once.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

/// As ibv_query_device() reports it (device_test.cc).
constexpr std::uint32_t kUrnic = 0x027572;
constexpr std::uint32_t kSelectiveRepeat = 1;
constexpr std::uint32_t kMellanox = 0x15b3;

class Ece : public testing::Test {
 protected:
  Ece() {
    setenv("URNIC_RECOVERY", "selective-repeat", 1);
    context_ = open_device();
    pd_.reset(ibv_alloc_pd(context_.get()));
    cq_.reset(ibv_create_cq(context_.get(), 16, nullptr, nullptr, 0));
    qp_ = create(IBV_QPT_RC);
  }

  QpPtr create(ibv_qp_type type) {
    ibv_qp_init_attr attributes = qp_attributes(type, cq_.get());
    return QpPtr(ibv_create_qp(pd_.get(), &attributes));
  }
  int set(ibv_ece ece) { return ibv_set_ece(qp_.get(), &ece); }
  std::uint32_t options() {
    ibv_ece ece{.vendor_id = 7, .options = 7, .comp_mask = 7};
    EXPECT_EQ(ibv_query_ece(qp_.get(), &ece), 0);
    EXPECT_EQ(ece.vendor_id, kUrnic);
    EXPECT_EQ(ece.comp_mask, 0u);
    return ece.options;
  }

  ContextPtr context_;
  PdPtr pd_;
  CqPtr cq_;
  QpPtr qp_;
};

TEST_F(Ece, OffersSelectiveRepeat) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  EXPECT_EQ(device.vendor_id, kUrnic);
  EXPECT_EQ(options(), kSelectiveRepeat);
}

TEST_F(Ece, AcceptsWhatBothHaveAndSaysSo) {
  ibv_ece ece{.vendor_id = kUrnic, .options = 0xf0000003, .comp_mask = 0};
  ASSERT_EQ(ibv_set_ece(qp_.get(), &ece), 0);
  EXPECT_EQ(ece.options, kSelectiveRepeat);
  EXPECT_EQ(options(), kSelectiveRepeat);
  ASSERT_EQ(connect(qp_.get(), 0x11), 0);
  EXPECT_EQ(options(), kSelectiveRepeat);
}

TEST_F(Ece, TakesTheLastOfSeveralCalls) {
  ASSERT_EQ(set({kUrnic, kSelectiveRepeat, 0}), 0);
  ASSERT_EQ(set({kUrnic, 0, 0}), 0);
  EXPECT_EQ(options(), 0u);
  ASSERT_EQ(set({kUrnic, kSelectiveRepeat, 0}), 0);
  EXPECT_EQ(options(), kSelectiveRepeat);
}

// As libibverbs and mlx5 of rdma-core 65 refuse it.
TEST_F(Ece, RefusesWhatIsNotItsOwn) {
  EXPECT_EQ(set({kMellanox, kSelectiveRepeat, 0}), EINVAL);
  EXPECT_EQ(set({kUrnic, kSelectiveRepeat, 1}), EINVAL);
  EXPECT_EQ(set({0, 0, 0}), EOPNOTSUPP);
  EXPECT_EQ(set({0, kSelectiveRepeat, 1}), EOPNOTSUPP);
  EXPECT_EQ(ibv_set_ece(qp_.get(), nullptr), EINVAL);
  EXPECT_EQ(ibv_query_ece(qp_.get(), nullptr), EINVAL);
  EXPECT_EQ(options(), kSelectiveRepeat) << "still what is offered";
  ASSERT_EQ(connect(qp_.get(), 0x11), 0);
  EXPECT_EQ(options(), 0u) << "nothing was agreed";
}

TEST_F(Ece, IsSettledAtRtr) {
  ASSERT_EQ(set({kUrnic, 0, 0}), 0);
  ASSERT_EQ(to_init(qp_.get()), 0);
  ASSERT_EQ(to_ready_to_receive(qp_.get(), 0x11), 0);
  EXPECT_EQ(set({kUrnic, kSelectiveRepeat, 0}), EINVAL);
  EXPECT_EQ(options(), 0u);
}

TEST_F(Ece, BeginsAnewInReset) {
  ASSERT_EQ(set({kUrnic, 0, 0}), 0);
  ASSERT_EQ(connect(qp_.get(), 0x11), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(qp_.get(), &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(options(), kSelectiveRepeat);
}

TEST_F(Ece, IsNotThereForOtherServices) {
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND}) {
    const QpPtr other = create(type);
    ASSERT_NE(other, nullptr) << type;
    ibv_ece ece{.vendor_id = kUrnic, .options = kSelectiveRepeat, .comp_mask = 0};
    EXPECT_EQ(ibv_set_ece(other.get(), &ece), EOPNOTSUPP) << type;
    EXPECT_EQ(ibv_query_ece(other.get(), &ece), EOPNOTSUPP) << type;
    EXPECT_EQ(ece.vendor_id, 0u);
    EXPECT_EQ(ece.options, 0u);
  }
}

}  // namespace
}  // namespace urnic::test
