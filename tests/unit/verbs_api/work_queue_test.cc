// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work queues, indirection tables, and queue pairs that spread frames over them.
#include <fcntl.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "tests/unit/verbs_api/raw_packet_objects.h"

namespace urnic::test {
namespace {

int destroy_wq(ibv_wq* wq) {
  return ibv_destroy_wq(wq);
}
int destroy_table(ibv_rwq_ind_table* table) {
  return ibv_destroy_rwq_ind_table(table);
}
using WqPtr = std::unique_ptr<ibv_wq, Destroy<destroy_wq>>;
using TablePtr = std::unique_ptr<ibv_rwq_ind_table, Destroy<destroy_table>>;

/// Two completion queues and eight work queues that take turns with them, as rdma-core's own test of RSS has
/// them; A sends, and its frames come back.
class WorkQueue : public RawPacket {
 protected:
  static constexpr std::size_t kQueues = 8;

  WorkQueue() {
    for (std::size_t i = 0; i < kQueues; ++i) {
      queues_.push_back(create_queue(i % 2 == 0 ? cq_b_.get() : cq_c_.get()));
      EXPECT_EQ(modify_queue(queues_.back().get(), IBV_WQS_RDY), 0);
    }
    for (std::size_t i = 0; i < key_.size(); ++i) key_[i] = static_cast<std::uint8_t>(i * 37 + 11);
    table_ = create_table();
  }

  ibv_wq_init_attr attributes(ibv_cq* cq) {
    return {.wq_context = this,
            .wq_type = IBV_WQT_RQ,
            .max_wr = 64,
            .max_sge = 2,
            .pd = pd_.get(),
            .cq = cq,
            .comp_mask = 0,
            .create_flags = 0};
  }
  WqPtr create_queue(ibv_cq* cq) {
    ibv_wq_init_attr init_attr = attributes(cq);
    WqPtr queue(ibv_create_wq(context_.get(), &init_attr));
    EXPECT_NE(queue, nullptr);
    return queue;
  }
  TablePtr create_table() {
    std::vector<ibv_wq*> listed;
    for (const WqPtr& queue : queues_) listed.push_back(queue.get());
    ibv_rwq_ind_table_init_attr init_attr{.log_ind_tbl_size = 3, .ind_tbl = listed.data(), .comp_mask = 0};
    TablePtr table(ibv_create_rwq_ind_table(context_.get(), &init_attr));
    EXPECT_NE(table, nullptr);
    return table;
  }
  ibv_qp_init_attr_ex rss_attributes() {
    ibv_qp_init_attr_ex init_attr{};
    init_attr.qp_type = IBV_QPT_RAW_PACKET;
    init_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_IND_TABLE |
                          IBV_QP_INIT_ATTR_RX_HASH;
    init_attr.pd = pd_.get();
    init_attr.rwq_ind_tbl = table_.get();
    init_attr.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                              .rx_hash_key_len = static_cast<std::uint8_t>(key_.size()),
                              .rx_hash_key = key_.data(),
                              .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4};
    return init_attr;
  }
  QpPtr create_rss() {
    ibv_qp_init_attr_ex init_attr = rss_attributes();
    QpPtr qp(ibv_create_qp_ex(context_.get(), &init_attr));
    EXPECT_NE(qp, nullptr);
    return qp;
  }
  FlowPtr add_rule(ibv_qp* qp) {
    Rule rule = udp_rule();
    return FlowPtr(ibv_create_flow(qp, &rule.attr));
  }

  static int modify_queue(ibv_wq* queue, ibv_wq_state state) {
    ibv_wq_attr attr{};
    attr.attr_mask = IBV_WQ_ATTR_STATE;
    attr.wq_state = state;
    return ibv_modify_wq(queue, &attr);
  }
  static int post(ibv_wq* queue, std::uint64_t wr_id, ibv_sge sge) {
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_wq_recv(queue, &wr, &bad);
  }
  /// 0 when attributes that `spoil` has changed are taken, otherwise errno.
  template <typename Attributes, typename Create>
  static int error_of(Attributes init_attr, const std::function<void(Attributes&)>& spoil, Create create) {
    spoil(init_attr);
    errno = 0;
    return create(init_attr) != nullptr ? 0 : errno;
  }

  const CqPtr cq_c_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  std::vector<WqPtr> queues_;
  std::array<std::uint8_t, 40> key_;
  TablePtr table_;
};

// As pyverbs' test_rss_traffic does it.
TEST_F(WorkQueue, ReceivesItsShareOfFramesFromManyAddresses) {
  constexpr int kFrames = 32;
  const QpPtr rss = create_rss();
  const FlowPtr flow = add_rule(rss.get());
  ASSERT_NE(flow, nullptr);
  Buffer from(pd_.get(), 100);
  Buffer to(pd_.get(), 200);
  for (std::size_t i = 0; i < kQueues; ++i) {
    for (int k = 0; k < kFrames; ++k) ASSERT_EQ(post(queues_[i].get(), i, to.sge()), 0);
  }
  write_frame(from);
  std::array<int, kQueues> received{};
  for (int i = 0; i < kFrames; ++i) {
    from.data()[26] = static_cast<std::uint8_t>(i);  // of the source address
    ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {from.sge()}), 0);
    ASSERT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
    ibv_wc wc{};
    while (ibv_poll_cq(cq_b_.get(), 1, &wc) == 0 && ibv_poll_cq(cq_c_.get(), 1, &wc) == 0) {
    }
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 100u);
    ASSERT_LT(wc.wr_id, kQueues);
    EXPECT_EQ(wc.qp_num, queues_[wc.wr_id]->wq_num);
    EXPECT_EQ(std::memcmp(to.data(), from.data(), 100), 0);
    ++received[wc.wr_id];
  }
  // Toeplitz is linear: 32 values of five bits reach as many places as its matrix has of rank, and equally
  // often.
  int used = 0;
  for (const int count : received) {
    used += count > 0 ? 1 : 0;
    EXPECT_TRUE(count == 0 || count == received[0] || received[0] == 0) << count;
  }
  EXPECT_GT(used, 1);
}

TEST_F(WorkQueue, IsWhatWasAskedFor) {
  ibv_wq_init_attr init_attr = attributes(cq_b_.get());
  init_attr.max_wr = 50;
  const WqPtr queue(ibv_create_wq(context_.get(), &init_attr));
  ASSERT_NE(queue, nullptr);
  EXPECT_GE(init_attr.max_wr, 50u);
  EXPECT_GE(init_attr.max_sge, 2u);
  EXPECT_EQ(queue->context, context_.get());
  EXPECT_EQ(queue->wq_context, this);
  EXPECT_EQ(queue->pd, pd_.get());
  EXPECT_EQ(queue->cq, cq_b_.get());
  EXPECT_EQ(queue->wq_type, IBV_WQT_RQ);
  EXPECT_EQ(queue->state, IBV_WQS_RESET);
  EXPECT_NE(queue->wq_num, queues_[0]->wq_num);
}

TEST_F(WorkQueue, GoesThroughItsStates) {
  ibv_wq* const queue = queues_[0].get();
  Buffer buffer(pd_.get(), 100);
  EXPECT_EQ(post(queue, 1, buffer.sge()), 0);
  EXPECT_EQ(modify_queue(queue, IBV_WQS_ERR), 0);
  EXPECT_EQ(queue->state, IBV_WQS_ERR);
  const ibv_wc flushed = next_completion(cq_b_.get());
  EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(flushed.wr_id, 1u);
  EXPECT_EQ(flushed.qp_num, queue->wq_num);
  EXPECT_EQ(modify_queue(queue, IBV_WQS_RDY), EINVAL);
  EXPECT_EQ(queue->state, IBV_WQS_ERR);
  EXPECT_EQ(modify_queue(queue, IBV_WQS_RESET), 0);
  EXPECT_EQ(post(queue, 2, buffer.sge()), EINVAL) << "it would never complete";
  EXPECT_EQ(modify_queue(queue, IBV_WQS_ERR), EINVAL);
  EXPECT_EQ(modify_queue(queue, IBV_WQS_UNKNOWN), EINVAL);
  EXPECT_EQ(modify_queue(queue, static_cast<ibv_wq_state>(-1)), EINVAL);
  EXPECT_EQ(modify_queue(queue, IBV_WQS_RDY), 0);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
}

TEST_F(WorkQueue, IsModifiedFromTheStateThatIsAssumedOnly) {
  ibv_wq_attr attr{};
  attr.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE;
  attr.curr_wq_state = IBV_WQS_RESET;
  attr.wq_state = IBV_WQS_ERR;
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), EINVAL);
  attr.curr_wq_state = IBV_WQS_RDY;
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), 0);
  EXPECT_EQ(attr.curr_wq_state, IBV_WQS_ERR) << "the header promises the current value";
  attr.curr_wq_state = static_cast<ibv_wq_state>(77);
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), EINVAL);
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), nullptr), EINVAL);
  attr.attr_mask = IBV_WQ_ATTR_RESERVED;
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), EINVAL);
  attr.attr_mask = IBV_WQ_ATTR_FLAGS;
  attr.flags = attr.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING;
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), EOPNOTSUPP);
  attr.flags_mask = 0;
  EXPECT_EQ(ibv_modify_wq(queues_[0].get(), &attr), 0);
}

TEST_F(WorkQueue, ThatIsFullTakesNoMore) {
  ibv_wq_init_attr init_attr = attributes(cq_b_.get());
  const WqPtr queue(ibv_create_wq(context_.get(), &init_attr));
  ASSERT_EQ(modify_queue(queue.get(), IBV_WQS_RDY), 0);
  Buffer buffer(pd_.get(), 100);
  std::vector<ibv_recv_wr> list(init_attr.max_wr + 1);
  ibv_sge sge = buffer.sge();
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = {
        .wr_id = i, .next = i + 1 < list.size() ? &list[i + 1] : nullptr, .sg_list = &sge, .num_sge = 1};
  }
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_wq_recv(queue.get(), list.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &list.back());
  ibv_recv_wr too_many{.wr_id = 1, .next = nullptr, .sg_list = &sge, .num_sge = 100};
  EXPECT_EQ(ibv_post_wq_recv(queue.get(), &too_many, &bad), EINVAL);
}

TEST_F(WorkQueue, WithAttributesThatMakeNoSenseIsRefused) {
  const auto error = [&](const std::function<void(ibv_wq_init_attr&)>& spoil) {
    return error_of<ibv_wq_init_attr>(attributes(cq_b_.get()), spoil, [&](ibv_wq_init_attr& init_attr) {
      return WqPtr(ibv_create_wq(context_.get(), &init_attr));
    });
  };
  const ContextPtr other = open_device();
  const PdPtr other_pd(ibv_alloc_pd(other.get()));
  const CqPtr other_cq(ibv_create_cq(other.get(), 8, nullptr, nullptr, 0));
  EXPECT_EQ(error([](auto&) {}), 0);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS; }), 0);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask = IBV_WQ_INIT_ATTR_RESERVED; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.wq_type = static_cast<ibv_wq_type>(1); }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.max_wr = 0; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.max_wr = 1 << 20; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.max_sge = 1000; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.pd = nullptr; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.cq = nullptr; }), EINVAL);
  EXPECT_EQ(error([&](auto& init_attr) { init_attr.pd = other_pd.get(); }), EINVAL);
  EXPECT_EQ(error([&](auto& init_attr) { init_attr.cq = other_cq.get(); }), EINVAL);
  for (const std::uint32_t flag : {IBV_WQ_FLAGS_CVLAN_STRIPPING, IBV_WQ_FLAGS_SCATTER_FCS,
                                   IBV_WQ_FLAGS_DELAY_DROP, IBV_WQ_FLAGS_PCI_WRITE_END_PADDING}) {
    EXPECT_EQ(error([flag](auto& init_attr) {
                init_attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
                init_attr.create_flags = flag;
              }),
              EOPNOTSUPP)
        << flag;
  }
}

TEST_F(WorkQueue, TableWithAttributesThatMakeNoSenseIsRefused) {
  std::vector<ibv_wq*> listed{queues_[0].get(), queues_[1].get()};
  const auto error = [&](const std::function<void(ibv_rwq_ind_table_init_attr&)>& spoil) {
    return error_of<ibv_rwq_ind_table_init_attr>(
        {.log_ind_tbl_size = 1, .ind_tbl = listed.data(), .comp_mask = 0}, spoil,
        [&](ibv_rwq_ind_table_init_attr& init_attr) {
          return TablePtr(ibv_create_rwq_ind_table(context_.get(), &init_attr));
        });
  };
  EXPECT_EQ(error([](auto&) {}), 0);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.log_ind_tbl_size = 0; }), 0);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask = IBV_CREATE_IND_TABLE_RESERVED; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.ind_tbl = nullptr; }), EINVAL);
  for (const std::uint32_t size : {12u, 31u, 32u, 0xffffffffu}) {
    EXPECT_EQ(error([size](auto& init_attr) { init_attr.log_ind_tbl_size = size; }), EINVAL) << size;
  }
  listed[1] = nullptr;
  EXPECT_EQ(error([](auto&) {}), EINVAL);
  const ContextPtr other = open_device();
  listed[1] = queues_[1].get();
  ibv_rwq_ind_table_init_attr init_attr{.log_ind_tbl_size = 1, .ind_tbl = listed.data(), .comp_mask = 0};
  EXPECT_EQ(ibv_create_rwq_ind_table(other.get(), &init_attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(WorkQueue, QueuePairWithAttributesThatMakeNoSenseIsRefused) {
  const auto error = [&](const std::function<void(ibv_qp_init_attr_ex&)>& spoil) {
    return error_of<ibv_qp_init_attr_ex>(rss_attributes(), spoil, [&](ibv_qp_init_attr_ex& init_attr) {
      return QpPtr(ibv_create_qp_ex(context_.get(), &init_attr));
    });
  };
  EXPECT_EQ(error([](auto&) {}), 0);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask &= ~unsigned{IBV_QP_INIT_ATTR_IND_TABLE}; }),
            EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask &= ~unsigned{IBV_QP_INIT_ATTR_RX_HASH}; }),
            EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.comp_mask &= ~unsigned{IBV_QP_INIT_ATTR_PD}; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rwq_ind_tbl = nullptr; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.qp_type = IBV_QPT_UD; }), EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_function = 0; }), EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_function = 3; }), EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_key = nullptr; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_key_len = 39; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_fields_mask = 0; }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_fields_mask |= 1 << 9; }), EINVAL);
  for (const std::uint64_t field : {std::uint64_t{IBV_RX_HASH_IPSEC_SPI}, std::uint64_t{0x80000000}}) {
    EXPECT_EQ(error([field](auto& init_attr) { init_attr.rx_hash_conf.rx_hash_fields_mask |= field; }),
              EOPNOTSUPP);
  }
  EXPECT_EQ(error([&](auto& init_attr) { init_attr.recv_cq = cq_b_.get(); }), EINVAL);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.cap.max_recv_wr = 1; }), EINVAL);
  EXPECT_EQ(error([&](auto& init_attr) { init_attr.send_cq = cq_b_.get(); }), EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.cap.max_send_wr = 1; }), EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) { init_attr.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING; }),
            EOPNOTSUPP);
  EXPECT_EQ(error([](auto& init_attr) {
              init_attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
              init_attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
            }),
            EOPNOTSUPP);
}

TEST_F(WorkQueue, QueuePairNeitherHasStatesNorPosts) {
  const QpPtr rss = create_rss();
  Buffer buffer(pd_.get(), 100);
  EXPECT_EQ(modify(rss.get(), IBV_QPS_INIT, IBV_QP_PORT), EOPNOTSUPP);
  EXPECT_EQ(post_send(rss.get(), request(IBV_WR_SEND), {buffer.sge()}), EINVAL);
  EXPECT_EQ(post_receive(rss.get(), 1, {buffer.sge()}), EINVAL);
  ibv_qp_attr attr{};
  ibv_qp_init_attr created{};
  EXPECT_EQ(ibv_query_qp(rss.get(), &attr, IBV_QP_STATE, &created), EOPNOTSUPP);
  EXPECT_EQ(ibv_qp_to_qp_ex(rss.get()), nullptr);
}

TEST_F(WorkQueue, IsBusyAsLongAsAnythingUsesIt) {
  QpPtr rss = create_rss();
  FlowPtr flow = add_rule(rss.get());
  EXPECT_EQ(ibv_destroy_qp(rss.get()), EBUSY);
  flow.reset();
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table_.get()), EBUSY);
  rss.reset();
  EXPECT_EQ(ibv_destroy_wq(queues_[0].get()), EBUSY);
  table_.reset();
  EXPECT_EQ(ibv_destroy_cq(cq_c_.get()), EBUSY);
  const PdPtr pd(ibv_alloc_pd(context_.get()));
  ibv_wq_init_attr init_attr = attributes(cq_b_.get());
  init_attr.pd = pd.get();
  const WqPtr queue(ibv_create_wq(context_.get(), &init_attr));
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST_F(WorkQueue, IsOfferedByTheDevice) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &attributes), 0);
  EXPECT_EQ(attributes.rss_caps.supported_qpts, 1u << IBV_QPT_RAW_PACKET);
  EXPECT_EQ(attributes.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
  EXPECT_EQ(attributes.rss_caps.rx_hash_fields_mask, 0xffu);
  EXPECT_GE(attributes.rss_caps.max_rwq_indirection_table_size, 128u);
  EXPECT_GT(attributes.rss_caps.max_rwq_indirection_tables, 0u);
  EXPECT_GT(attributes.max_wq_type_rq, 0u);
  EXPECT_EQ(attributes.raw_packet_caps, 0u);
}

TEST_F(WorkQueue, TellsThatItsCompletionQueueOverflowed) {
  const CqPtr tiny(ibv_create_cq(context_.get(), 1, nullptr, nullptr, 0));
  const WqPtr queue = create_queue(tiny.get());
  ASSERT_EQ(modify_queue(queue.get(), IBV_WQS_RDY), 0);
  ibv_wq* listed[] = {queue.get()};
  ibv_rwq_ind_table_init_attr table_attributes{.log_ind_tbl_size = 0, .ind_tbl = listed, .comp_mask = 0};
  const TablePtr table(ibv_create_rwq_ind_table(context_.get(), &table_attributes));
  ibv_qp_init_attr_ex init_attr = rss_attributes();
  init_attr.rwq_ind_tbl = table.get();
  init_attr.rx_hash_conf.rx_hash_fields_mask = 0;  // there is nothing to choose
  const QpPtr rss(ibv_create_qp_ex(context_.get(), &init_attr));
  ASSERT_NE(rss, nullptr);
  const FlowPtr flow = add_rule(rss.get());
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  for (int i = 0; i <= tiny->cqe; ++i) {
    ASSERT_EQ(post(queue.get(), 1, buffer.sge()), 0);
    ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
    ASSERT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context_.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_get_async_event(context_.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_WQ_FATAL);
  EXPECT_EQ(event.element.wq, queue.get());
  ibv_ack_async_event(&event);
  EXPECT_EQ(queue->events_completed, 1u);
}

TEST(WorkQueues, EndWhenTheProgramClosesTheDevice) {
  ibv_context* const context = open_device().release();
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  ibv_wq_init_attr init_attr{};
  init_attr.wq_type = IBV_WQT_RQ;
  init_attr.max_wr = 4;
  init_attr.pd = pd;
  init_attr.cq = cq;
  ibv_wq* queue = ibv_create_wq(context, &init_attr);
  ASSERT_NE(queue, nullptr);
  ibv_rwq_ind_table_init_attr table_attributes{.log_ind_tbl_size = 0, .ind_tbl = &queue, .comp_mask = 0};
  ibv_rwq_ind_table* const table = ibv_create_rwq_ind_table(context, &table_attributes);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(ibv_close_device(context), 0);
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_wq_recv(queue, &wr, &bad), EIO);
  ibv_wq_attr change{};
  EXPECT_EQ(ibv_modify_wq(queue, &change), EIO);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), EIO);
  EXPECT_EQ(ibv_destroy_wq(queue), EIO);
  errno = 0;
  EXPECT_EQ(ibv_create_wq(context, &init_attr), nullptr);
  EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace urnic::test
