// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses and routes, by the commands for IP addresses and by those for all.
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "tests/unit/verbs_api/rdma_cm_objects.h"
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

/// struct sockaddr_ib, of which librdmacm's header tells.
struct IbAddress {
  std::uint16_t family;
  std::uint16_t pkey;
  std::uint32_t flow_info;
  std::uint8_t gid[16];
  std::uint64_t service_id;
  std::uint64_t service_id_mask;
  std::uint64_t scope_id;
};
static_assert(sizeof(IbAddress) == 48);

template <typename Address>
bool has(const sockaddr_in6& field, const Address& address) {
  return std::memcmp(&field, &address, sizeof(address)) == 0;
}

std::uint64_t own_guid() {
  const ContextPtr context = open_device();
  return ibv_get_device_guid(context->device);
}

/// ::ffff:10.77.9.1
const std::uint8_t kOwnIpv4Gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 9, 1};

TEST(RdmaCmAddress, OfAFreshIdIsNone) {
  CmChannel channel;
  rdma_ucm_query_route_resp known;
  std::memset(&known, 0xee, sizeof(known));
  ASSERT_EQ(channel.query_route(channel.create(1), known), 0);
  EXPECT_TRUE(has(known.src_addr, sockaddr_in6{}));
  EXPECT_TRUE(has(known.dst_addr, sockaddr_in6{}));
  EXPECT_EQ(known.node_guid, 0u);
  EXPECT_EQ(known.num_paths, 0u);
  EXPECT_EQ(known.ibdev_index, 0xffffffffu);
}

TEST(RdmaCmAddress, IsBoundToTheDevice) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  ASSERT_EQ(channel.bind(id, ipv4(kOwnIpv4, 18100)), 0);
  rdma_ucm_query_route_resp known{};
  ASSERT_EQ(channel.query_route(id, known), 0);
  EXPECT_TRUE(has(known.src_addr, ipv4(kOwnIpv4, 18100)));
  EXPECT_TRUE(has(known.dst_addr, sockaddr_in6{}));
  EXPECT_EQ(known.node_guid, own_guid());
  EXPECT_EQ(known.port_num, 1);
  EXPECT_EQ(known.num_paths, 0u);
  EXPECT_EQ(std::memcmp(known.ib_route[0].sgid, kOwnIpv4Gid, 16), 0);
  EXPECT_EQ(known.ib_route[0].pkey, 0xffff);
  EXPECT_EQ(channel.bind(id, ipv4(kOwnIpv4, 18101)), EINVAL);
}

TEST(RdmaCmAddress, OfAnyInterfaceIsOnNoDeviceYet) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  ASSERT_EQ(channel.bind(id, ipv4("0.0.0.0", 0)), 0);
  rdma_ucm_query_route_resp known{};
  ASSERT_EQ(channel.query_route(id, known), 0);
  EXPECT_NE(port_of(known.src_addr), 0);
  EXPECT_EQ(known.node_guid, 0u);
  EXPECT_EQ(known.port_num, 0);
}

TEST(RdmaCmAddress, MayBeIpv6) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  ASSERT_EQ(channel.bind(id, ipv6(kOwnIpv6, 18102)), 0);
  rdma_ucm_query_route_resp known{};
  ASSERT_EQ(channel.query_route(id, known), 0);
  EXPECT_TRUE(has(known.src_addr, ipv6(kOwnIpv6, 18102)));
}

TEST(RdmaCmAddress, IsBoundByTheCommandForAllAddressesToo) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  const sockaddr_in address = ipv4(kOwnIpv4, 18103);
  for (const std::size_t size : {0, 1, 15}) EXPECT_EQ(channel.bind_any(id, &address, size), EINVAL) << size;
  ASSERT_EQ(channel.bind_any(id, &address, sizeof(address)), 0);
  rdma_ucm_query_addr_resp known{};
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_ADDR, &known, sizeof(known)), 0);
  EXPECT_EQ(known.src_size, sizeof(sockaddr_in));
  EXPECT_EQ(std::memcmp(&known.src_addr, &address, sizeof(address)), 0);
  EXPECT_EQ(known.dst_size, 0);
  EXPECT_EQ(known.node_guid, own_guid());
  EXPECT_EQ(known.port_num, 1);
  EXPECT_EQ(known.pkey, 0xffff);
}

TEST(RdmaCmAddress, IsOneOfTheNic) {
  CmChannel channel;
  EXPECT_EQ(channel.bind(channel.create(1), ipv4("10.77.9.2", 0)), EADDRNOTAVAIL);
  EXPECT_EQ(channel.bind(channel.create(1), ipv6("fd77::8", 0)), EADDRNOTAVAIL);
}

// librdmacm asks so whether the kernel knows them, and uses the commands for IP addresses when it does not.
TEST(RdmaCmAddress, IsNotOneOfInfiniband) {
  CmChannel channel;
  IbAddress address{};
  address.family = 27;
  const std::uint32_t id = channel.create(1, RDMA_PS_IB, IBV_QPT_RC);
  EXPECT_EQ(channel.bind_any(id, &address, sizeof(address)), EAFNOSUPPORT);
  EXPECT_EQ(channel.bind_any(id, &address, sizeof(address) - 1), EINVAL);
}

TEST(RdmaCmAddress, HasAFamilyThatThereIs) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  for (const int family : {0, AF_UNIX, 27, 255, 0xffff}) {  // 27 does not fit
    sockaddr_in6 address{};
    address.sin6_family = static_cast<sa_family_t>(family);
    EXPECT_EQ(channel.bind(id, address), EINVAL) << family;
    rdma_ucm_resolve_ip resolve{};
    resolve.id = id;
    resolve.dst_addr = address;
    EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_RESOLVE_IP, resolve), EINVAL) << family;
    if (family == 0) continue;  // any source
    const sockaddr_in to = ipv4(kOwnIpv4, 1);
    std::memcpy(&resolve.dst_addr, &to, sizeof(to));
    resolve.src_addr = address;
    EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_RESOLVE_IP, resolve), EINVAL) << family;
  }
}

TEST(RdmaCmAddress, IsResolvedWithItsRoute) {
  CmChannel channel;
  const std::uint32_t id = channel.create(5);
  resolve_to(channel, id, 7174);
  rdma_ucm_query_route_resp known{};
  ASSERT_EQ(channel.query_route(id, known), 0);
  EXPECT_EQ(known.src_addr.sin6_family, AF_INET);
  EXPECT_TRUE(has(known.dst_addr, ipv4(kOwnIpv4, 7174)));
  ASSERT_EQ(known.num_paths, 1u);
  const ib_user_path_rec& path = known.ib_route[0];
  EXPECT_EQ(std::memcmp(path.sgid, kOwnIpv4Gid, 16), 0);
  EXPECT_EQ(std::memcmp(path.dgid, kOwnIpv4Gid, 16), 0);
  EXPECT_EQ(path.mtu, std::uint32_t{IBV_MTU_4096});
  EXPECT_EQ(path.mtu_selector, 2);
  EXPECT_EQ(path.rate_selector, 2);
  EXPECT_EQ(path.packet_life_time_selector, 2);
  EXPECT_EQ(path.reversible, 1u);
  EXPECT_EQ(path.hop_limit, 64);
  EXPECT_EQ(path.pkey, 0xffff);
  // Fact 8.
  EXPECT_EQ(be32toh(path.flow_label), (port_of(known.src_addr) * 31u + 7174u) & 0xfffffu);
}

TEST(RdmaCmAddress, IsResolvedByTheCommandForAllAddressesToo) {
  CmChannel channel;
  const std::uint32_t id = channel.create(5);
  rdma_ucm_resolve_addr command{};
  command.id = id;
  command.timeout_ms = 2000;
  const sockaddr_in to = ipv4(kOwnIpv4, 7174);
  const sockaddr_in from = ipv4(kOwnIpv4, 18104);
  std::memcpy(&command.dst_addr, &to, sizeof(to));
  std::memcpy(&command.src_addr, &from, sizeof(from));
  command.src_size = sizeof(from);
  for (const std::uint16_t wrong :
       std::initializer_list<std::uint16_t>{0, 15, 17, 28, 48, 128, 129, 0xffff}) {
    command.dst_size = wrong;
    EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), EINVAL) << wrong;
  }
  command.dst_size = sizeof(to);
  command.reserved = 1;
  EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), EINVAL);
  command.reserved = 0;
  ASSERT_EQ(channel.write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), 0);
  channel.expect_event(kAddressResolved);
  rdma_ucm_query_addr_resp known{};
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_ADDR, &known, sizeof(known)), 0);
  EXPECT_EQ(known.src_size, sizeof(from));
  EXPECT_EQ(std::memcmp(&known.src_addr, &from, sizeof(from)), 0);
  EXPECT_EQ(known.dst_size, sizeof(to));
  EXPECT_EQ(std::memcmp(&known.dst_addr, &to, sizeof(to)), 0);
}

TEST(RdmaCmAddress, IsNotFoundWhereThereIsNobody) {
  CmChannel channel;
  const std::uint32_t id = channel.create(5);
  ASSERT_EQ(channel.resolve(id, ipv4("10.77.9.200", 1)), 0);
  EXPECT_LT(static_cast<int>(channel.expect_event(kAddressError).status), 0);
}

TEST(RdmaCmAddress, IsAskedForAsGidAndAsPathRecord) {
  CmChannel channel;
  const std::uint32_t id = channel.create(5);
  resolve_to(channel, id, 7174);

  rdma_ucm_query_addr_resp gids{};
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_GID, &gids, sizeof(gids)), 0);
  IbAddress source{};
  std::memcpy(&source, &gids.src_addr, sizeof(source));
  EXPECT_EQ(gids.src_size, sizeof(source));
  EXPECT_EQ(source.family, 27);
  EXPECT_EQ(std::memcmp(source.gid, kOwnIpv4Gid, 16), 0);
  IbAddress destination{};
  std::memcpy(&destination, &gids.dst_addr, sizeof(destination));
  EXPECT_EQ(std::memcmp(destination.gid, kOwnIpv4Gid, 16), 0);
  EXPECT_EQ(be64toh(destination.service_id), 0x01060000u + 7174u);

  struct {
    std::uint32_t paths = 0;
    std::uint32_t reserved = 0;
    ibv_path_data data[6] = {};
  } answer;
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_PATH, &answer, sizeof(answer)), 0);
  ASSERT_EQ(answer.paths, 1u);
  EXPECT_EQ(answer.data[0].flags,
            std::uint32_t{IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL});
  const ibv_path_record& path = answer.data[0].path;
  EXPECT_EQ(std::memcmp(path.dgid.raw, kOwnIpv4Gid, 16), 0);
  EXPECT_EQ(be32toh(path.flowlabel_hoplimit) & 0xffu, 64u);
  EXPECT_EQ(path.mtu & 0x3f, IBV_MTU_4096);
  EXPECT_EQ(path.mtu >> 6, 2);
  EXPECT_EQ(answer.data[1].flags, 0u);

  answer = {};
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_PATH, &answer, 8), 0);
  EXPECT_EQ(answer.paths, 1u);
  EXPECT_EQ(answer.data[0].flags, 0u);
  EXPECT_EQ(channel.query(id, RDMA_USER_CM_QUERY_PATH, &answer, 7), ENOSPC);
  EXPECT_EQ(channel.query(id, 3, &answer, sizeof(answer)), ENOSYS);
}

TEST(RdmaCmAddress, IsWrittenAsFarAsThereIsRoom) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  constexpr std::size_t kOld = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
  rdma_ucm_query_addr_resp known;
  std::memset(&known, 0xee, sizeof(known));
  ASSERT_EQ(channel.query(id, RDMA_USER_CM_QUERY_ADDR, &known, kOld), 0);
  EXPECT_EQ(known.ibdev_index, 0xeeeeeeeeu);
  EXPECT_EQ(channel.query(id, RDMA_USER_CM_QUERY_ADDR, &known, kOld - 1), ENOSPC);
  EXPECT_EQ(channel.query(id, RDMA_USER_CM_QUERY_GID, &known, kOld - 1), ENOSPC);
  EXPECT_EQ(channel.query(id, RDMA_USER_CM_QUERY_ADDR, nullptr, sizeof(known)), EFAULT);
}

}  // namespace
}  // namespace urnic::test
