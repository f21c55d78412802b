// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Posting by the functions of ibv_qp_ex: the operations beside plain data, and where datagrams and XRC go.
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr std::uint32_t kBuiltQkey = 0x77;
constexpr std::uint64_t kUcOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                        IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                        IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
constexpr std::uint64_t kRcOperations = kUcOperations | IBV_QP_EX_WITH_RDMA_READ |
                                        IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;
// As infiniband/verbs.h of rdma-core 56 has it; the installed one may be older.
constexpr std::uint64_t kWithFlush = 1 << 11;
constexpr int kAccessFlushGlobal = 1 << 8;
constexpr int kAccessFlushPersistent = 1 << 9;
constexpr int kWcFlush = 8;
constexpr std::uint8_t kGlobal = 1, kPersistent = 2;
constexpr std::uint8_t kRange = 0, kRegion = 1;
void wr_flush(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::size_t length, std::uint8_t type,
              std::uint8_t level) {
  using Builder = void(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t, std::uint8_t);
  constexpr std::size_t kBehindAtomicWrite = offsetof(ibv_qp_ex, wr_atomic_write) + sizeof(Builder*);
  Builder* builder = nullptr;
  std::memcpy(&builder, reinterpret_cast<const char*>(qp) + kBehindAtomicWrite, sizeof(builder));
  builder(qp, rkey, address, length, type, level);
}

constexpr std::uint64_t kUdOperations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

class OperationBuilder : public testing::Test {
 protected:
  QpPtr create(ibv_qp_type type, std::uint64_t operations, ibv_cq* cq) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = cq;
    attributes.recv_cq = cq;
    attributes.cap = rc_attributes(nullptr).cap;
    attributes.qp_type = type;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = pd_.get();
    attributes.send_ops_flags = operations;
    errno = 0;
    return QpPtr(ibv_create_qp_ex(context_.get(), &attributes));
  }

  void connect_two(std::uint64_t more_operations = 0) {
    qp_ = create(IBV_QPT_RC, kRcOperations | more_operations, cq_.get());
    peer_ = create(IBV_QPT_RC, kRcOperations, cq_peer_.get());
    ASSERT_NE(qp_, nullptr);
    ASSERT_EQ(connect(qp_.get(), peer_->qp_num), 0);
    ASSERT_EQ(connect(peer_.get(), qp_->qp_num), 0);
    ex_ = ibv_qp_to_qp_ex(qp_.get());
  }

  void start_two_for_datagrams() {
    qp_ = create(IBV_QPT_UD, kUdOperations, cq_.get());
    peer_ = create(IBV_QPT_UD, kUdOperations, cq_peer_.get());
    ASSERT_NE(qp_, nullptr);
    ASSERT_EQ(start_datagrams(qp_.get(), kBuiltQkey), 0);
    ASSERT_EQ(start_datagrams(peer_.get(), kBuiltQkey), 0);
    ex_ = ibv_qp_to_qp_ex(qp_.get());
    ibv_ah_attr address = own_address(context_.get());
    ah_.reset(ibv_create_ah(pd_.get(), &address));
  }

  void begin(std::uint64_t wr_id) {
    ex_->wr_id = wr_id;
    ex_->wr_flags = IBV_SEND_SIGNALED;
  }

  static void allow(ibv_qp* qp, int rights) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = static_cast<unsigned>(rights);
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_peer_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  AhPtr ah_;
  QpPtr qp_;
  QpPtr peer_;
  ibv_qp_ex* ex_ = nullptr;
};

TEST_F(OperationBuilder, OffersEachTypeWhatItCanDo) {
  EXPECT_NE(create(IBV_QPT_UC, kUcOperations, cq_.get()), nullptr);
  EXPECT_NE(create(IBV_QPT_UD, kUdOperations, cq_.get()), nullptr);
  EXPECT_NE(create(IBV_QPT_XRC_SEND, kRcOperations, cq_.get()), nullptr);
  EXPECT_EQ(create(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ, cq_.get()), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(create(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE, cq_.get()), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(OperationBuilder, PostsAtomics) {
  connect_two();
  Buffer local(pd_.get(), 16);
  Buffer remote(pd_.get(), 24);
  const std::uint64_t number = 0x1234;
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_atomic_fetch_add(ex_, remote.rkey(), remote.address(), 5);
  ibv_wr_set_sge(ex_, local.mr()->lkey, local.address(), 8);
  begin(2);
  ibv_wr_atomic_cmp_swp(ex_, remote.rkey(), remote.address(), 5, 6);
  ibv_wr_set_sge(ex_, local.mr()->lkey, local.address() + 8, 8);
  begin(3);
  ibv_wr_atomic_write(ex_, remote.rkey(), remote.address() + 8, &number);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  for (const ibv_wc_opcode opcode : {IBV_WC_FETCH_ADD, IBV_WC_COMP_SWAP, IBV_WC_ATOMIC_WRITE}) {
    const ibv_wc completion = next_completion(cq_.get());
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
    EXPECT_EQ(completion.opcode, opcode);
  }
  EXPECT_EQ(local.data()[8], 5);
  EXPECT_EQ(remote.data()[0], 6);
  EXPECT_EQ(std::memcmp(remote.data() + 8, &number, sizeof(number)), 0);
}

TEST_F(OperationBuilder, PostsFlushesOfARangeAndOfARegion) {
  connect_two(kWithFlush);
  Buffer region(pd_.get(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | kAccessFlushGlobal);
  allow(peer_.get(), kAccessFlushGlobal);
  ibv_wr_start(ex_);
  begin(1);
  wr_flush(ex_, region.rkey(), region.address() + 8, 56, kGlobal, kRange);
  begin(2);
  wr_flush(ex_, region.rkey(), 0, 0, kGlobal, kRegion);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const ibv_wc completion = next_completion(cq_.get());
    EXPECT_EQ(completion.wr_id, id);
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
    EXPECT_EQ(static_cast<int>(completion.opcode), kWcFlush);
  }
  ibv_wr_start(ex_);
  begin(3);
  wr_flush(ex_, region.rkey(), region.address() + 8, 57, kGlobal, kRange);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OperationBuilder, AFlushNeedsTheRegionsRight) {
  connect_two(kWithFlush);
  Buffer region(pd_.get(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  allow(peer_.get(), kAccessFlushGlobal);
  ibv_wr_start(ex_);
  begin(1);
  wr_flush(ex_, region.rkey(), region.address(), 64, kGlobal, kRange);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(next_completion(cq_.get()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OperationBuilder, RefusesFlushesThatAreNone) {
  connect_two(kWithFlush);
  struct Row {
    std::size_t length;
    std::uint8_t type, level;
  };
  constexpr std::size_t kFourGibibytes = std::size_t{1} << 32;
  for (const Row row :
       {Row{8, 0, kRange}, Row{8, 4, kRange}, Row{8, kGlobal, 2}, Row{kFourGibibytes, kGlobal, kRange}}) {
    ibv_wr_start(ex_);
    begin(1);
    wr_flush(ex_, 1, 0, row.length, row.type, row.level);
    EXPECT_EQ(ibv_wr_complete(ex_), EINVAL) << row.length << " " << int{row.type} << " " << int{row.level};
  }
  ibv_wr_start(ex_);
  begin(1);
  wr_flush(ex_, 1, 0, 8, kGlobal | kPersistent, kRange);
  ibv_wr_abort(ex_);
}

TEST_F(OperationBuilder, MemoryHereIsNotPersistent) {
  std::vector<char> memory(64);
  errno = 0;
  EXPECT_EQ(
      ibv_reg_mr(pd_.get(), memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | kAccessFlushPersistent),
      nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(OperationBuilder, AQueuePairSaysWhichFlushesItAllows) {
  connect_two(kWithFlush);
  for (const int rights :
       {kAccessFlushGlobal, kAccessFlushGlobal | kAccessFlushPersistent, int{IBV_ACCESS_REMOTE_READ}}) {
    allow(peer_.get(), rights);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init_attributes{};
    ASSERT_EQ(ibv_query_qp(peer_.get(), &attributes, IBV_QP_ACCESS_FLAGS, &init_attributes), 0);
    EXPECT_EQ(attributes.qp_access_flags, static_cast<unsigned>(rights));
  }
}

TEST_F(OperationBuilder, RefusesAtomicsOfAnotherLength) {
  connect_two();
  Buffer local(pd_.get(), 16);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_atomic_fetch_add(ex_, 1, 0, 5);
  ibv_wr_set_sge(ex_, local.mr()->lkey, local.address(), 16);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_atomic_fetch_add(ex_, 1, 0, 5);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(OperationBuilder, BindsAndInvalidatesWindows) {
  connect_two();
  Buffer region(pd_.get(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2));
  const ibv_mw_bind_info info{
      .mr = region.mr(), .addr = region.address(), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  ASSERT_EQ(post_receive(peer_.get(), 1, {}), 0);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_bind_mw(ex_, mw.get(), key & 0xff, &info);
  begin(2);
  ibv_wr_local_inv(ex_, key);
  begin(3);
  ibv_wr_send_inv(ex_, 0xabcd00);
  ibv_wr_set_sge_list(ex_, 0, nullptr);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  EXPECT_EQ(mw->rkey, key);
  EXPECT_EQ(next_completion(cq_.get()).opcode, IBV_WC_BIND_MW);
  const ibv_wc taken_back = next_completion(cq_.get());
  EXPECT_EQ(taken_back.status, IBV_WC_SUCCESS);
  EXPECT_EQ(taken_back.opcode, IBV_WC_LOCAL_INV);
  // The peer has no window with that key.
  EXPECT_NE(next_completion(cq_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(OperationBuilder, RefusesToBindAWindowOfType1) {
  connect_two();
  const MwPtr mw(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1));
  const ibv_mw_bind_info info{};
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_bind_mw(ex_, mw.get(), ibv_inc_rkey(mw->rkey), &info);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(OperationBuilder, TakesADatagramsAddressBeforeOrAfterItsData) {
  start_two_for_datagrams();
  Buffer from(pd_.get(), 16);
  Buffer to(pd_.get(), 256);
  from.fill(1);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(post_receive(peer_.get(), i, {to.sge(64 * i, 64)}), 0);
  char text[] = "0123456789abcdef";
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_ud_addr(ex_, ah_.get(), peer_->qp_num, kBuiltQkey);
  ibv_wr_set_sge(ex_, from.mr()->lkey, from.address(), 16);
  begin(2);
  ibv_wr_send(ex_);
  ibv_wr_set_sge(ex_, from.mr()->lkey, from.address(), 16);
  ibv_wr_set_ud_addr(ex_, ah_.get(), peer_->qp_num, kBuiltQkey);
  begin(3);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, text, 16);
  std::memset(text, 0, sizeof(text));
  ibv_wr_set_ud_addr(ex_, ah_.get(), peer_->qp_num, kBuiltQkey);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next_completion(cq_peer_.get()).byte_len, sizeof(ibv_grh) + 16);
  EXPECT_EQ(std::memcmp(to.data() + 40, from.data(), 16), 0);
  EXPECT_EQ(std::memcmp(to.data() + 64 + 40, from.data(), 16), 0);
  EXPECT_EQ(std::memcmp(to.data() + 128 + 40, "0123456789abcdef", 16), 0);
}

TEST_F(OperationBuilder, RefusesADatagramWithoutAnAddress) {
  start_two_for_datagrams();
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_ud_addr(ex_, nullptr, peer_->qp_num, kBuiltQkey);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(OperationBuilder, RefusesAnAddressWhereNoneBelongs) {
  connect_two();
  ibv_ah_attr address = own_address(context_.get());
  const AhPtr ah(ibv_create_ah(pd_.get(), &address));
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_ud_addr(ex_, ah.get(), peer_->qp_num, kBuiltQkey);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  ibv_wr_start(ex_);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_xrc_srqn(ex_, 1);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

}  // namespace
}  // namespace urnic::test
