// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How rdma_cm's structs and the kernel's become each other, in cases that no connection to oneself reaches.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <variant>

#include "verbs_api/rdma_cm/parameters.h"
#include "verbs_api/rdma_cm/qp_settings.h"
#include "verbs_api/rdma_cm/socket_address.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::Event;
using nic::rdma_cm::EventType;
using nic::rdma_cm::QpSettings;
using nic::rdma_cm::Service;
using nic::rdma_cm::SocketAddress;
using transport::QpState;

std::uint32_t mask_of(Service service, QpState state, bool is_xrc_target = false) {
  const auto attributes = to_kernel_attributes(
      {.service = service, .state = state, .is_xrc_target = is_xrc_target, .is_connection_known = true});
  return attributes ? attributes.value().qp_attr_mask : 0;
}

constexpr std::uint32_t kReceiving =
    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kAnswering = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kSending = IBV_QP_STATE | IBV_QP_SQ_PSN;
constexpr std::uint32_t kRequesting = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

TEST(RdmaCmQpSettings, HaveWhatTheServiceHas) {
  EXPECT_EQ(mask_of(Service::kRc, QpState::kReadyToReceive), kReceiving | kAnswering);
  EXPECT_EQ(mask_of(Service::kRc, QpState::kReadyToSend), kSending | kRequesting | IBV_QP_TIMEOUT);
  EXPECT_EQ(mask_of(Service::kUc, QpState::kReadyToReceive), kReceiving);
  EXPECT_EQ(mask_of(Service::kUc, QpState::kReadyToSend), kSending);
  EXPECT_EQ(mask_of(Service::kXrc, QpState::kReadyToReceive), kReceiving);
  EXPECT_EQ(mask_of(Service::kXrc, QpState::kReadyToSend), kSending | kRequesting | IBV_QP_TIMEOUT);
  EXPECT_EQ(mask_of(Service::kXrc, QpState::kReadyToReceive, true), kReceiving | kAnswering);
  EXPECT_EQ(mask_of(Service::kXrc, QpState::kReadyToSend, true), kSending | IBV_QP_TIMEOUT);
}

TEST(RdmaCmQpSettings, AreThereForTheStatesOnTheWayToSending) {
  for (const QpState state : {QpState::kReset, QpState::kSqDrained, QpState::kSqError, QpState::kError}) {
    const auto attributes =
        to_kernel_attributes({.service = Service::kRc, .state = state, .is_connection_known = true});
    ASSERT_FALSE(attributes);
    EXPECT_EQ(attributes.error(), EINVAL);
  }
  EXPECT_FALSE(to_qp_state(7));
  EXPECT_FALSE(to_qp_state(0xffffffff));
  EXPECT_EQ(to_qp_state(IBV_QPS_RTS), QpState::kReadyToSend);
}

TEST(RdmaCmQpSettings, AllowReadsOnlyWhereTheyCanBeAnswered) {
  QpSettings settings{.service = Service::kRc, .state = QpState::kInit, .is_connection_known = true};
  EXPECT_EQ(to_kernel_attributes(settings).value().qp_access_flags, std::uint32_t{IBV_ACCESS_REMOTE_WRITE});
  settings.allows_reads = true;
  EXPECT_EQ(to_kernel_attributes(settings).value().qp_access_flags,
            std::uint32_t{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});
}

TEST(RdmaCmParameters, HoldNoMorePrivateDataThanAMessage) {
  rdma_ucm_conn_param parameters{};
  parameters.qp_num = 0xff123456;
  parameters.private_data[223] = 7;
  parameters.private_data_len = 224;
  const auto read = to_parameters(parameters, {});
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().private_data.size, 224);
  EXPECT_EQ(read.value().private_data.bytes[223], std::byte{7});
  EXPECT_EQ(static_cast<std::uint32_t>(read.value().qp), 0x123456u);
  parameters.private_data_len = 225;
  ASSERT_FALSE(to_parameters(parameters, {}));
  EXPECT_EQ(to_parameters(parameters, {}).error(), EINVAL);
}

// librdmacm names the options of its queue pair also in an answer to a peer that has offered none.
TEST(RdmaCmParameters, OfferOptionsOfAVendorOnly) {
  using nic::cm::Ece;
  EXPECT_EQ(to_parameters({}, {.vendor_id = 7, .attr_mod = 5}).value().ece,
            (Ece{.vendor_id = 7, .options = 5}));
  EXPECT_EQ(to_parameters({}, {.vendor_id = 7, .attr_mod = 0}).value().ece,
            (Ece{.vendor_id = 7, .options = 0}));
  EXPECT_EQ(to_parameters({}, {.vendor_id = 0, .attr_mod = 5}).value().ece, Ece{});
}

TEST(RdmaCmParameters, OfAnEventWithoutAnyAreZero) {
  const rdma_ucm_event_resp response =
      to_response(Event{.type = EventType::kAddressError, .uid = 5, .status = -ETIMEDOUT});
  EXPECT_EQ(response.uid, 5u);
  EXPECT_EQ(static_cast<int>(response.status), -ETIMEDOUT);
  const rdma_ucm_ud_param none{};
  EXPECT_EQ(std::memcmp(&response.param, &none, sizeof(none)), 0);
}

TEST(RdmaCmSocketAddress, IsWrittenAsItWasRead) {
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(7174);
  ipv6.sin6_flowinfo = htonl(0x12345);
  ipv6.sin6_scope_id = 3;
  ipv6.sin6_addr.s6_addr[0] = 0xfe;
  const auto read = to_socket_address(std::as_bytes(std::span(&ipv6, 1)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().port, 7174);
  EXPECT_EQ(read.value().flow_info, 0x12345u);
  sockaddr_in6 written{};
  EXPECT_EQ(write_socket_address(read.value(), std::as_writable_bytes(std::span(&written, 1))),
            sizeof(written));
  EXPECT_EQ(std::memcmp(&ipv6, &written, sizeof(ipv6)), 0);
  EXPECT_EQ(write_socket_address(SocketAddress{}, {}), 0u);
}

TEST(RdmaCmSocketAddress, IsNotReadBehindItsEnd) {
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  const auto memory = std::as_bytes(std::span(&ipv6, 1));
  for (std::size_t size = 0; size < sizeof(ipv6); ++size) {
    EXPECT_EQ(socket_address_bytes(memory.first(size)), 0u) << size;
    EXPECT_FALSE(to_socket_address(memory.first(size))) << size;
  }
}

}  // namespace
}  // namespace urnic::verbs_api
