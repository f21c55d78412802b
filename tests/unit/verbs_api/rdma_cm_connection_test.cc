// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connections of the NIC to itself, command by command.
#include <endian.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>

#include "tests/unit/verbs_api/rdma_cm_objects.h"

namespace urnic::test {
namespace {

constexpr std::uint64_t kListener = 100;
constexpr std::uint64_t kActive = 200;
constexpr std::uint64_t kPassive = 300;

/// A number that no connection before had: those are not forgotten at once.
std::uint32_t fresh_qp() {
  static std::uint32_t last = 0x100;
  return ++last;
}

std::string text_in(const rdma_ucm_conn_param& parameters) {
  return reinterpret_cast<const char*>(parameters.private_data);
}

class RdmaCmConnection : public testing::Test {
 protected:
  /// Both ids exist, and the request was fetched.
  void request(std::uint16_t space = RDMA_PS_TCP) {
    listener_ = server_.create(kListener, space);
    const std::uint16_t port = listen_somewhere(server_, listener_);
    active_ = client_.create(kActive, space);
    resolve_to(client_, active_, port);
    ASSERT_EQ(client_.connect(active_, active_qp_, "hello"), 0);
    request_ = server_.expect_event(kConnectRequest);
    passive_ = request_.id;
  }

  CmChannel server_;
  CmChannel client_;
  std::uint32_t listener_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t passive_ = 0;
  const std::uint32_t active_qp_ = fresh_qp();
  const std::uint32_t passive_qp_ = fresh_qp();
  rdma_ucm_event_resp request_{};
};

TEST_F(RdmaCmConnection, IsRequestedWithPrivateData) {
  request();
  EXPECT_EQ(request_.uid, kListener);
  EXPECT_NE(passive_, listener_);
  EXPECT_EQ(request_.status, 0u);
  EXPECT_EQ(request_.param.conn.qp_num, active_qp_);
  EXPECT_EQ(text_in(request_.param.conn), "hello");
  EXPECT_EQ(request_.param.conn.private_data_len, 56);
  // As the side that gets it sees them.
  EXPECT_EQ(request_.param.conn.responder_resources, 2);
  EXPECT_EQ(request_.param.conn.initiator_depth, 4);
  EXPECT_EQ(request_.param.conn.retry_count, 7);
  EXPECT_EQ(request_.param.conn.rnr_retry_count, 6);
  rdma_ucm_query_route_resp known{};
  ASSERT_EQ(server_.query_route(passive_, known), 0);
  EXPECT_EQ(known.num_paths, 1u);
  EXPECT_EQ(known.port_num, 1);
}

TEST_F(RdmaCmConnection, IsEstablishedAndEnded) {
  request();
  ASSERT_EQ(server_.accept(passive_, kPassive, passive_qp_, "welcome"), 0);
  const rdma_ucm_event_resp response = client_.expect_event(kConnectResponse);
  EXPECT_EQ(response.uid, kActive);
  EXPECT_EQ(response.id, active_);
  EXPECT_EQ(response.param.conn.qp_num, passive_qp_);
  EXPECT_EQ(text_in(response.param.conn), "welcome");
  EXPECT_EQ(response.param.conn.private_data_len, 196);
  ASSERT_EQ(client_.establish(active_), 0);
  EXPECT_EQ(client_.establish(active_), EINVAL);
  const rdma_ucm_event_resp established = server_.expect_event(kEstablished);
  EXPECT_EQ(established.uid, kPassive);
  EXPECT_EQ(established.id, passive_);

  ASSERT_EQ(client_.disconnect(active_), 0);
  EXPECT_EQ(server_.expect_event(kDisconnected).uid, kPassive);
  ASSERT_EQ(server_.disconnect(passive_), 0);
  EXPECT_EQ(client_.expect_event(kDisconnected).uid, kActive);
  std::uint32_t fetched = 0;
  EXPECT_EQ(server_.destroy(listener_, &fetched), 0);
  EXPECT_EQ(fetched, 1u);
  EXPECT_EQ(server_.destroy(passive_, &fetched), 0);
  EXPECT_EQ(fetched, 2u);
  EXPECT_EQ(client_.destroy(active_, &fetched), 0);
  EXPECT_EQ(fetched, 4u);
}

TEST_F(RdmaCmConnection, HandsOnWhatTheSidesOfferBeyondTheStandard) {
  const std::uint32_t listener = server_.create(kListener);
  const std::uint16_t port = listen_somewhere(server_, listener);
  const std::uint32_t active = client_.create(kActive);
  resolve_to(client_, active, port);
  ASSERT_EQ(client_.connect(active, active_qp_, "", {.vendor_id = 0x0015b3, .attr_mod = 0x30000000}), 0);
  const rdma_ucm_event_resp request = server_.expect_event(kConnectRequest);
  EXPECT_EQ(request.ece.vendor_id, 0x0015b3u);
  EXPECT_EQ(request.ece.attr_mod, 0x30000000u);
  ASSERT_EQ(server_.accept(request.id, kPassive, passive_qp_, "", {.vendor_id = 0x0015b3, .attr_mod = 4}), 0);
  const rdma_ucm_event_resp response = client_.expect_event(kConnectResponse);
  EXPECT_EQ(response.ece.vendor_id, 0x0015b3u);
  EXPECT_EQ(response.ece.attr_mod, 4u);
}

// An older librdmacm does not know that there is more.
TEST_F(RdmaCmConnection, OfAProgramThatOffersNothingSaysSo) {
  request();
  EXPECT_EQ(request_.ece.vendor_id, 0u);
  EXPECT_EQ(request_.ece.attr_mod, 0u);
  rdma_ucm_accept command{};
  command.uid = kPassive;
  command.conn_param.valid = 1;
  command.conn_param.qp_num = passive_qp_;
  command.id = passive_;
  command.ece = {.vendor_id = 1, .attr_mod = 1};
  ASSERT_EQ(server_.write_bytes(RDMA_USER_CM_CMD_ACCEPT, &command, offsetof(rdma_ucm_accept, ece), 0), 0);
  const rdma_ucm_event_resp response = client_.expect_event(kConnectResponse);
  EXPECT_EQ(response.ece.vendor_id, 0u);
  EXPECT_EQ(response.ece.attr_mod, 0u);
}

TEST_F(RdmaCmConnection, IsRejectedForWhatTheProgramDoesNotHave) {
  request();
  ASSERT_EQ(server_.reject(passive_, 35), 0);  // rdma_reject_ece()
  EXPECT_EQ(client_.expect_event(kRejected).status, 35u);
}

TEST_F(RdmaCmConnection, TellsWhatQueuePairsNeed) {
  request();
  ib_uverbs_qp_attr attributes{};
  ASSERT_EQ(server_.init_qp_attributes(passive_, IBV_QPS_INIT, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask,
            std::uint32_t{IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT});
  EXPECT_EQ(attributes.qp_state, std::uint32_t{IBV_QPS_INIT});
  EXPECT_EQ(attributes.port_num, 1);
  EXPECT_EQ(attributes.qp_access_flags,
            std::uint32_t{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});

  ASSERT_EQ(server_.init_qp_attributes(passive_, IBV_QPS_RTR, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask,
            std::uint32_t{IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER});
  EXPECT_EQ(attributes.dest_qp_num, active_qp_);
  EXPECT_EQ(attributes.path_mtu, std::uint32_t{IBV_MTU_4096});
  EXPECT_EQ(attributes.max_dest_rd_atomic, 2);
  EXPECT_EQ(attributes.ah_attr.is_global, 1);
  EXPECT_EQ(attributes.ah_attr.port_num, 1);
  EXPECT_EQ(attributes.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(attributes.ah_attr.grh.hop_limit, 64);
  const std::uint32_t passive_receives = attributes.rq_psn;

  ASSERT_EQ(server_.init_qp_attributes(passive_, IBV_QPS_RTS, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask,
            std::uint32_t{IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                          IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC});
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_EQ(attributes.retry_cnt, 7);
  EXPECT_EQ(attributes.rnr_retry, 6);
  EXPECT_NE(attributes.timeout, 0);
  const std::uint32_t passive_sends = attributes.sq_psn;

  for (const std::uint32_t state :
       {std::uint32_t{IBV_QPS_SQD}, std::uint32_t{IBV_QPS_ERR}, 7u, 0xffffffffu}) {
    EXPECT_EQ(server_.init_qp_attributes(passive_, state, attributes), EINVAL) << state;
  }

  ASSERT_EQ(server_.accept(passive_, kPassive, passive_qp_), 0);
  client_.expect_event(kConnectResponse);
  ASSERT_EQ(client_.init_qp_attributes(active_, IBV_QPS_RTR, attributes), 0);
  EXPECT_EQ(attributes.dest_qp_num, passive_qp_);
  EXPECT_EQ(attributes.rq_psn, passive_sends) << "the peer sends what we receive";
  ASSERT_EQ(client_.init_qp_attributes(active_, IBV_QPS_RTS, attributes), 0);
  EXPECT_EQ(attributes.sq_psn, passive_receives) << "the peer receives what we send";
}

TEST_F(RdmaCmConnection, NeedsNothingButTheBasicsBeforeItIsKnown) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  ib_uverbs_qp_attr attributes{};
  resolve_to(channel, id, 1);
  ASSERT_EQ(channel.init_qp_attributes(id, IBV_QPS_INIT, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask,
            std::uint32_t{IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS});
  EXPECT_EQ(attributes.qp_access_flags, 0u);
}

TEST_F(RdmaCmConnection, IsRejected) {
  request();
  ASSERT_EQ(server_.reject(passive_, 0, "no!"), 0);
  const rdma_ucm_event_resp rejected = client_.expect_event(kRejected);
  EXPECT_EQ(rejected.status, 28u);
  EXPECT_EQ(rejected.param.conn.private_data_len, 148);
  EXPECT_EQ(text_in(rejected.param.conn), "no!");
}

TEST_F(RdmaCmConnection, IsRejectedWhereThereIsNoListener) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  resolve_to(channel, id, 18200);
  ASSERT_EQ(channel.connect(id, active_qp_), 0);
  EXPECT_EQ(channel.expect_event(kRejected).status, 8u);
}

// It would have the name that the program gives with accept().
TEST_F(RdmaCmConnection, TellsNothingOfAnIdThatIsNotAccepted) {
  request();
  EXPECT_EQ(client_.destroy(active_), 0);
  EXPECT_FALSE(server_.is_readable(50));
}

TEST_F(RdmaCmConnection, CarriesOnlySoMuchPrivateData) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  resolve_to(channel, id, 18201);
  for (const std::size_t bytes : {57u, 224u, 225u, 255u}) {
    EXPECT_EQ(channel.connect(id, active_qp_, std::string(bytes, 'x')), EINVAL) << bytes;
  }
  EXPECT_EQ(channel.connect(id, active_qp_, std::string(56, 'x')), 0);
}

TEST_F(RdmaCmConnection, NeedsParameters) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  resolve_to(channel, id, 18202);
  rdma_ucm_connect command{};
  command.id = id;
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_CONNECT, command), EINVAL);
}

TEST_F(RdmaCmConnection, MayBeReportedByTheQueuePair) {
  request();
  ASSERT_EQ(server_.accept(passive_, kPassive, passive_qp_), 0);
  client_.expect_event(kConnectResponse);
  // RTU has not come, but the queue pair got a message.
  EXPECT_EQ(
      server_.write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = passive_, .event = IBV_EVENT_PATH_MIG}),
      EINVAL);
  EXPECT_EQ(
      server_.write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = passive_, .event = IBV_EVENT_COMM_EST}),
      0);
  server_.expect_event(kEstablished);
}

TEST_F(RdmaCmConnection, EndsWithItsChannel) {
  request();
  {
    CmChannel last;
    ASSERT_EQ(last.migrate(passive_, server_.fd()), 0);
  }
  client_.expect_event(kRejected);
}

TEST_F(RdmaCmConnection, OfDatagramsTellsWhereToSend) {
  request(RDMA_PS_UDP);
  EXPECT_EQ(request_.param.ud.private_data_len, 180);
  EXPECT_STREQ(reinterpret_cast<const char*>(request_.param.ud.private_data), "hello");
  ASSERT_EQ(server_.accept(passive_, kPassive, passive_qp_, "welcome"), 0);
  const rdma_ucm_event_resp established = client_.expect_event(kEstablished);
  EXPECT_EQ(established.uid, kActive);
  EXPECT_EQ(established.param.ud.qp_num, passive_qp_);
  EXPECT_EQ(established.param.ud.qkey, 0x01234567u);
  EXPECT_EQ(established.param.ud.private_data_len, 136);
  EXPECT_STREQ(reinterpret_cast<const char*>(established.param.ud.private_data), "welcome");
  EXPECT_EQ(established.param.ud.ah_attr.is_global, 1);
  EXPECT_EQ(established.param.ud.ah_attr.port_num, 1);
  EXPECT_EQ(established.param.ud.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(established.param.ud.ah_attr.grh.dgid[15], 1);

  ib_uverbs_qp_attr attributes{};
  ASSERT_EQ(client_.init_qp_attributes(active_, IBV_QPS_INIT, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask,
            std::uint32_t{IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY});
  EXPECT_EQ(attributes.qkey, 0x01234567u);
}

// --- Multicast ---

int join(CmChannel& channel, std::uint32_t id, std::uint32_t* membership = nullptr) {
  rdma_ucm_create_id_resp response{};
  rdma_ucm_join_ip_mcast command{};
  const sockaddr_in group = ipv4("239.1.2.3", 0);
  command.response = reinterpret_cast<std::uintptr_t>(&response);
  command.uid = 42;
  std::memcpy(&command.addr, &group, sizeof(group));
  command.id = id;
  const int failed = channel.write(RDMA_USER_CM_CMD_JOIN_IP_MCAST, command, sizeof(response));
  if (membership != nullptr) *membership = response.id;
  return failed;
}

TEST(RdmaCmMulticast, IsJoinedAndLeft) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1, RDMA_PS_UDP);
  ASSERT_EQ(channel.bind(id, ipv4(kOwnIpv4, 0)), 0);
  std::uint32_t membership = 0;
  ASSERT_EQ(join(channel, id, &membership), 0);
  const rdma_ucm_event_resp joined = channel.expect_event(kMulticastJoin);
  EXPECT_EQ(joined.uid, 42u);
  EXPECT_EQ(joined.id, membership);
  EXPECT_EQ(joined.param.ud.qp_num, 0xffffffu);
  EXPECT_EQ(joined.param.ud.qkey, 0x01234567u);
  EXPECT_EQ(joined.param.ud.ah_attr.grh.dgid[12], 239);
  EXPECT_EQ(joined.param.ud.ah_attr.grh.dgid[15], 3);

  rdma_ucm_destroy_id_resp left{};
  rdma_ucm_destroy_id leave{};
  leave.response = reinterpret_cast<std::uintptr_t>(&left);
  leave.id = membership;
  ASSERT_EQ(channel.write(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, sizeof(left)), 0);
  EXPECT_EQ(left.events_reported, 1u);
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, sizeof(left)), ENOENT);
}

TEST(RdmaCmMulticast, IsJoinedByTheCommandForAllAddressesToo) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1, RDMA_PS_UDP);
  ASSERT_EQ(channel.bind(id, ipv4(kOwnIpv4, 0)), 0);
  rdma_ucm_create_id_resp response{};
  rdma_ucm_join_mcast command{};
  const sockaddr_in group = ipv4("239.1.2.3", 0);
  command.response = reinterpret_cast<std::uintptr_t>(&response);
  command.uid = 42;
  command.id = id;
  std::memcpy(&command.addr, &group, sizeof(group));
  for (const std::uint16_t size : std::initializer_list<std::uint16_t>{0, 15, 28, 129}) {
    command.addr_size = size;
    EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_JOIN_MCAST, command, sizeof(response)), EINVAL) << size;
  }
  command.addr_size = sizeof(group);
  command.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_JOIN_MCAST, command, sizeof(response)), EINVAL);
  for (const std::uint16_t flags : std::initializer_list<std::uint16_t>{
           RDMA_MC_JOIN_FLAG_FULLMEMBER, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER}) {
    command.join_flags = flags;
    ASSERT_EQ(channel.write(RDMA_USER_CM_CMD_JOIN_MCAST, command, sizeof(response)), 0);
    EXPECT_EQ(channel.expect_event(kMulticastJoin).id, response.id);
  }
  command.response = 8;
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_JOIN_MCAST, command, sizeof(response)), EFAULT);
  EXPECT_FALSE(channel.is_readable());
}

TEST(RdmaCmMulticast, EventsCountAsThoseOfTheId) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1, RDMA_PS_UDP);
  ASSERT_EQ(channel.bind(id, ipv4(kOwnIpv4, 0)), 0);
  ASSERT_EQ(join(channel, id), 0);
  channel.expect_event(kMulticastJoin);
  std::uint32_t fetched = 0;
  EXPECT_EQ(channel.destroy(id, &fetched), 0);
  EXPECT_EQ(fetched, 1u);
}

TEST(RdmaCmMulticast, EventsGoWithTheId) {
  CmChannel from;
  CmChannel to;
  const std::uint32_t id = from.create(1, RDMA_PS_UDP);
  ASSERT_EQ(from.bind(id, ipv4(kOwnIpv4, 0)), 0);
  ASSERT_EQ(join(from, id), 0);
  ASSERT_EQ(to.migrate(id, from.fd()), 0);
  to.expect_event(kMulticastJoin);
  EXPECT_FALSE(from.is_readable());
}

TEST(RdmaCmMulticast, IsLeftByTheChannelThatJoined) {
  CmChannel channel;
  CmChannel other;
  const std::uint32_t id = channel.create(1, RDMA_PS_UDP);
  ASSERT_EQ(channel.bind(id, ipv4(kOwnIpv4, 0)), 0);
  std::uint32_t membership = 0;
  ASSERT_EQ(join(channel, id, &membership), 0);
  rdma_ucm_destroy_id_resp left{};
  rdma_ucm_destroy_id leave{};
  leave.response = reinterpret_cast<std::uintptr_t>(&left);
  leave.id = membership;
  EXPECT_EQ(other.write(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, sizeof(left)), EINVAL);
}

}  // namespace
}  // namespace urnic::test
