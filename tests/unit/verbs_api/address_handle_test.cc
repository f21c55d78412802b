// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Address handles, and finding out whom to answer.
#include <arpa/inet.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class AddressHandle : public testing::Test {
 protected:
  /// To 10.77.9.2, from our IPv4 address.
  static ibv_ah_attr attributes() {
    ibv_ah_attr result{};
    result.is_global = 1;
    result.port_num = 1;
    result.grh.sgid_index = kIpv4Gid;
    inet_pton(AF_INET6, "::ffff:10.77.9.2", result.grh.dgid.raw);
    return result;
  }

  /// Tries to make one, and gives the errno value.
  int create_with(ibv_ah_attr attr) {
    errno = 0;
    const AhPtr ah(ibv_create_ah(pd_.get(), &attr));
    EXPECT_EQ(ah == nullptr, errno != 0);
    return errno;
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
};

TEST_F(AddressHandle, NeedsAGrhADestinationAndASource) {
  EXPECT_EQ(create_with(attributes()), 0);
  ibv_ah_attr without_grh = attributes();
  without_grh.is_global = 0;
  EXPECT_EQ(create_with(without_grh), EINVAL);
  ibv_ah_attr to_nobody = attributes();
  to_nobody.grh.dgid = {};
  EXPECT_EQ(create_with(to_nobody), EINVAL);
  ibv_ah_attr from_nobody = attributes();
  from_nobody.grh.sgid_index = kEmptyGid;
  EXPECT_EQ(create_with(from_nobody), EINVAL);
  ibv_ah_attr of_another_kind = attributes();
  of_another_kind.grh.sgid_index = kLinkLocalGid;
  EXPECT_EQ(create_with(of_another_kind), EINVAL);
}

TEST_F(AddressHandle, AreNoMoreThanTheDeviceSaysWhetherTheyAreUsedOrNot) {
  ibv_device_attr limits{};
  ASSERT_EQ(ibv_query_device(context_.get(), &limits), 0);
  const auto most = static_cast<std::size_t>(limits.max_ah);
  ibv_ah_attr attr = attributes();
  std::vector<AhPtr> handles;
  errno = 0;
  do {
    handles.emplace_back(ibv_create_ah(pd_.get(), &attr));
  } while (handles.back() != nullptr && handles.size() <= most);
  EXPECT_EQ(handles.back(), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ASSERT_EQ(handles.size(), most + 1);
  handles.front().reset();
  EXPECT_EQ(create_with(attributes()), 0);
}

// It waits as long as the kernel does. The peer's NIC may come up later, so the handle is good without an
// answer.
TEST_F(AddressHandle, WaitsForTheAnswerOfAPeer) {
  const CqPtr cq(ibv_create_cq(context_.get(), 1, nullptr, nullptr, 0));
  ibv_qp_init_attr starting_the_device = qp_attributes(IBV_QPT_UD, cq.get());
  const QpPtr qp(ibv_create_qp(pd_.get(), &starting_the_device));
  ASSERT_NE(qp, nullptr);
  ibv_ah_attr attr = attributes();
  inet_pton(AF_INET6, "::ffff:10.77.9.200", attr.grh.dgid.raw);
  const auto begin = std::chrono::steady_clock::now();
  const AhPtr ah(ibv_create_ah(pd_.get(), &attr));
  EXPECT_NE(ah, nullptr);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

// UCX puts a UDP source port there.
TEST_F(AddressHandle, IgnoresTheLid) {
  ibv_ah_attr with_lid = attributes();
  with_lid.dlid = 0xc123;
  EXPECT_EQ(create_with(with_lid), 0);
}

/// What stands in the last 20 of the 40 bytes in front of a datagram that came over IPv4 (fact 42). The
/// checksum was calculated elsewhere.
constexpr std::uint8_t kIpv4Header[20] = {0x45, 0x00, 0x00, 0x5c, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                                          0x13, 0xf5, 0x0a, 0x4d, 0x09, 0x02, 0x0a, 0x4d, 0x09, 0x01};

TEST_F(AddressHandle, FromACompletionAnswersTheSenderOverIpv4) {
  ibv_grh area{};
  std::memcpy(reinterpret_cast<std::uint8_t*>(&area) + 20, kIpv4Header, sizeof(kIpv4Header));
  ibv_wc completion{};
  completion.wc_flags = IBV_WC_GRH;
  ibv_ah_attr answer{};
  ASSERT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  EXPECT_EQ(answer.is_global, 1);
  EXPECT_EQ(answer.grh.sgid_index, kIpv4Gid);
  EXPECT_EQ(std::memcmp(answer.grh.dgid.raw, attributes().grh.dgid.raw, 16), 0);
  EXPECT_NE(AhPtr(ibv_create_ah_from_wc(pd_.get(), &completion, &area, 1)), nullptr);
}

TEST_F(AddressHandle, FromACompletionAnswersTheSenderOverIpv6) {
  ibv_grh area{};
  area.version_tclass_flow = htonl(0x6ab12345);
  inet_pton(AF_INET6, "fd77::8", area.sgid.raw);
  inet_pton(AF_INET6, "fd77::9", area.dgid.raw);
  ibv_wc completion{};
  completion.wc_flags = IBV_WC_GRH;
  ibv_ah_attr answer{};
  ASSERT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  EXPECT_EQ(answer.grh.sgid_index, 2);
  EXPECT_EQ(answer.grh.traffic_class, 0xab);
  EXPECT_EQ(answer.grh.flow_label, 0x12345u);
  EXPECT_EQ(std::memcmp(answer.grh.dgid.raw, area.sgid.raw, 16), 0);
}

TEST_F(AddressHandle, IsNoneForRoceV1WhichThisNicDoesNotHave) {
  constexpr std::uint8_t kBthFollows = 27;
  ibv_grh area{};
  area.version_tclass_flow = htonl(0x60000000);
  area.next_hdr = kBthFollows;
  inet_pton(AF_INET6, "fd77::8", area.sgid.raw);
  inet_pton(AF_INET6, "fd77::9", area.dgid.raw);
  ibv_wc completion{};
  completion.wc_flags = IBV_WC_GRH;
  ibv_ah_attr answer{};
  EXPECT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), EINVAL);
}

TEST_F(AddressHandle, CannotBeMadeFromRubbish) {
  ibv_grh area{};
  ibv_wc completion{};
  ibv_ah_attr answer{};
  EXPECT_NE(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  completion.wc_flags = IBV_WC_GRH;
  EXPECT_NE(ibv_init_ah_from_wc(context_.get(), 1, &completion, &area, &answer), 0);
  std::memcpy(reinterpret_cast<std::uint8_t*>(&area) + 20, kIpv4Header, sizeof(kIpv4Header));
  reinterpret_cast<std::uint8_t*>(&area)[39] = 7;  // the checksum is wrong now
  EXPECT_EQ(ibv_create_ah_from_wc(pd_.get(), &completion, &area, 1), nullptr);
}

}  // namespace
}  // namespace urnic::test
