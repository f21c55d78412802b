// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Objects that were not given out, or are not any more: control verbs refuse them and touch nothing.
#include <fcntl.h>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

/// A handle that the device has not given out, until the end of the scope.
class WrongHandle {
 public:
  explicit WrongHandle(std::uint32_t& handle) : handle_(handle), right_(handle) { handle = ~right_; }
  ~WrongHandle() { handle_ = right_; }
  WrongHandle(const WrongHandle&) = delete;
  WrongHandle& operator=(const WrongHandle&) = delete;

 private:
  std::uint32_t& handle_;
  std::uint32_t right_;
};

/// The errno value of a verb that gives null.
template <typename Verb>
int errno_of(Verb verb) {
  errno = 0;
  return verb() == nullptr ? errno : 0;
}

/// One object of most kinds.
class ObjectCheck : public testing::Test {
 protected:
  ObjectCheck() {
    ibv_ah_attr address = own_address(context_.get());
    ah_.reset(ibv_create_ah(pd_.get(), &address));
    ibv_qp_init_attr init_attr = rc_attributes(cq_.get());
    qp_.reset(ibv_create_qp(pd_.get(), &init_attr));
    ibv_srq_init_attr limits{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
    srq_.reset(ibv_create_srq(pd_.get(), &limits));
  }

  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(64);
  const ContextPtr context_ = open_device();
  const ContextPtr other_ = open_device();
  PdPtr pd_{ibv_alloc_pd(context_.get())};
  MrPtr mr_{ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), kAllAccess)};
  MwPtr mw_{ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1)};
  ChannelPtr channel_{ibv_create_comp_channel(context_.get())};
  CqPtr cq_{ibv_create_cq(context_.get(), 8, nullptr, channel_.get(), 0)};
  AhPtr ah_;
  SrqPtr srq_;
  QpPtr qp_;
};

TEST_F(ObjectCheck, AWrongHandleIsNoObject) {
  const auto destroy = [](auto verb, auto& object) {
    const WrongHandle wrong(object->handle);
    errno = 0;
    EXPECT_EQ(verb(object.get()), ENOENT);
    EXPECT_EQ(errno, ENOENT);
  };
  destroy(&ibv_destroy_qp, qp_);
  destroy(&ibv_destroy_srq, srq_);
  destroy(&ibv_destroy_ah, ah_);
  destroy(&ibv_destroy_cq, cq_);
  destroy(&ibv_dereg_mr, mr_);
  destroy(&ibv_dealloc_mw, mw_);
  destroy(&ibv_dealloc_pd, pd_);
  // All are as they were, and are destroyed at the end.
}

TEST_F(ObjectCheck, AWrongHandleIsNotChangedOrAsked) {
  {
    const WrongHandle wrong(qp_->handle);
    EXPECT_EQ(to_init(qp_.get()), ENOENT);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr made_with{};
    EXPECT_EQ(ibv_query_qp(qp_.get(), &attributes, IBV_QP_STATE, &made_with), ENOENT);
  }
  {
    const WrongHandle wrong(srq_->handle);
    ibv_srq_attr limits{};
    EXPECT_EQ(ibv_query_srq(srq_.get(), &limits), ENOENT);
    EXPECT_EQ(ibv_modify_srq(srq_.get(), &limits, IBV_SRQ_LIMIT), ENOENT);
  }
  {
    const WrongHandle wrong(cq_->handle);
    EXPECT_EQ(ibv_resize_cq(cq_.get(), 16), ENOENT);
  }
  const WrongHandle wrong(mr_->handle);
  errno = 0;
  EXPECT_NE(ibv_rereg_mr(mr_.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0), 0);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ObjectCheck, NothingIsMadeWithAWrongHandle) {
  ibv_qp_init_attr init_attr = rc_attributes(cq_.get());
  ibv_ah_attr address = own_address(context_.get());
  ibv_srq_init_attr limits{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  const auto create_qp = [&] { return ibv_create_qp(pd_.get(), &init_attr); };
  {
    const WrongHandle wrong(pd_->handle);
    EXPECT_EQ(errno_of(create_qp), ENOENT);
    EXPECT_EQ(errno_of([&] { return ibv_create_ah(pd_.get(), &address); }), ENOENT);
    EXPECT_EQ(errno_of([&] { return ibv_create_srq(pd_.get(), &limits); }), ENOENT);
    EXPECT_EQ(errno_of([&] { return ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1); }), ENOENT);
    EXPECT_EQ(errno_of([&] { return ibv_reg_mr(pd_.get(), memory_.data(), 64, kAllAccess); }), ENOENT);
  }
  {
    const WrongHandle wrong(cq_->handle);
    EXPECT_EQ(errno_of(create_qp), ENOENT);
  }
  const WrongHandle wrong(srq_->handle);
  init_attr.srq = srq_.get();
  EXPECT_EQ(errno_of(create_qp), ENOENT);
}

TEST_F(ObjectCheck, TheContextIsTheOneThatGaveItOut) {
  const auto destroy = [&](auto verb, auto& object) {
    object->context = other_.get();
    EXPECT_EQ(verb(object.get()), ENOENT);
    object->context = context_.get();
  };
  destroy(&ibv_destroy_qp, qp_);
  destroy(&ibv_destroy_srq, srq_);
  destroy(&ibv_destroy_ah, ah_);
  destroy(&ibv_destroy_cq, cq_);
  destroy(&ibv_destroy_comp_channel, channel_);
  destroy(&ibv_dereg_mr, mr_);
  destroy(&ibv_dealloc_pd, pd_);
}

TEST_F(ObjectCheck, ACopyIsNoObject) {
  const auto destroy = [](auto verb, auto& object) {
    auto copy = *object;
    EXPECT_EQ(verb(&copy), ENOENT);
  };
  destroy(&ibv_destroy_qp, qp_);
  destroy(&ibv_destroy_srq, srq_);
  destroy(&ibv_destroy_ah, ah_);
  destroy(&ibv_destroy_cq, cq_);
  destroy(&ibv_destroy_comp_channel, channel_);
  destroy(&ibv_dereg_mr, mr_);
  destroy(&ibv_dealloc_mw, mw_);
  destroy(&ibv_dealloc_pd, pd_);
  ibv_cq copy = *cq_;
  ibv_qp_init_attr init_attr = rc_attributes(&copy);
  EXPECT_EQ(errno_of([&] { return ibv_create_qp(pd_.get(), &init_attr); }), ENOENT);
}

TEST_F(ObjectCheck, OneOfAnotherKindIsNoObject) {
  EXPECT_EQ(ibv_dealloc_pd(reinterpret_cast<ibv_pd*>(mr_.get())), ENOENT);
  EXPECT_EQ(ibv_dereg_mr(reinterpret_cast<ibv_mr*>(pd_.get())), ENOENT);
  EXPECT_EQ(ibv_destroy_cq(reinterpret_cast<ibv_cq*>(srq_.get())), ENOENT);
}

// The memory may be anything by then, and is not read. Under AddressSanitizer that would be said.
TEST_F(ObjectCheck, IsDestroyedOnce) {
  const auto twice = [](auto verb, auto& owner) {
    auto* const object = owner.release();
    EXPECT_EQ(verb(object), 0);
    EXPECT_EQ(verb(object), ENOENT);
  };
  ibv_qp* const qp = qp_.get();
  twice(&ibv_destroy_qp, qp_);
  EXPECT_EQ(to_init(qp), ENOENT);
  twice(&ibv_destroy_srq, srq_);
  twice(&ibv_destroy_ah, ah_);
  ibv_cq* const cq = cq_.get();
  twice(&ibv_destroy_cq, cq_);
  ibv_qp_init_attr init_attr = rc_attributes(cq);
  EXPECT_EQ(errno_of([&] { return ibv_create_qp(pd_.get(), &init_attr); }), ENOENT);
  ibv_comp_channel* const channel = channel_.get();
  twice(&ibv_destroy_comp_channel, channel_);
  EXPECT_EQ(errno_of([&] { return ibv_create_cq(context_.get(), 8, nullptr, channel, 0); }), ENOENT);
  twice(&ibv_dereg_mr, mr_);
  mw_.reset();  // libibverbs' header reads the struct of a window itself
  ibv_pd* const pd = pd_.get();
  twice(&ibv_dealloc_pd, pd_);
  EXPECT_EQ(errno_of([&] { return ibv_reg_mr(pd, memory_.data(), memory_.size(), kAllAccess); }), ENOENT);
}

// A busy one is there as before.
TEST_F(ObjectCheck, ARefusalTakesNothingAway) {
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq_.get()), EBUSY);
  ibv_qp_init_attr init_attr = rc_attributes(cq_.get());
  EXPECT_NE(QpPtr(ibv_create_qp(pd_.get(), &init_attr)), nullptr);
}

// Those that the header calls through the context which the struct names.
TEST_F(ObjectCheck, HoldsForTheOtherKinds) {
  const auto refuses_a_copy = [](auto verb, auto* object) {
    ASSERT_NE(object, nullptr);
    auto copy = *object;
    EXPECT_EQ(verb(&copy), ENOENT);
    EXPECT_EQ(verb(object), 0);
  };
  ibv_td_init_attr no_td_wishes{};
  refuses_a_copy(&ibv_dealloc_td, ibv_alloc_td(context_.get(), &no_td_wishes));
  ibv_alloc_dm_attr some{.length = 64, .log_align_req = 0, .comp_mask = 0};
  refuses_a_copy(&ibv_free_dm, ibv_alloc_dm(context_.get(), &some));
  ibv_counters_init_attr no_counter_wishes{};
  refuses_a_copy(&ibv_destroy_counters, ibv_create_counters(context_.get(), &no_counter_wishes));
  ibv_xrcd_init_attr private_domain{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  refuses_a_copy(&ibv_close_xrcd, ibv_open_xrcd(context_.get(), &private_domain));
  ibv_wq_init_attr receiving{};
  receiving.wq_type = IBV_WQT_RQ;
  receiving.max_wr = 4;
  receiving.max_sge = 1;
  receiving.pd = pd_.get();
  receiving.cq = cq_.get();
  ibv_wq* wq = ibv_create_wq(context_.get(), &receiving);
  ASSERT_NE(wq, nullptr);
  ibv_wq copy = *wq;
  ibv_wq* copies[] = {&copy};
  ibv_rwq_ind_table_init_attr init_attr{.log_ind_tbl_size = 0, .ind_tbl = copies, .comp_mask = 0};
  EXPECT_EQ(errno_of([&] { return ibv_create_rwq_ind_table(context_.get(), &init_attr); }), ENOENT);
  init_attr.ind_tbl = &wq;
  refuses_a_copy(&ibv_destroy_rwq_ind_table, ibv_create_rwq_ind_table(context_.get(), &init_attr));
  refuses_a_copy(&ibv_destroy_wq, wq);
}

}  // namespace
}  // namespace urnic::test
