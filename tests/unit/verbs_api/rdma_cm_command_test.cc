// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Commands that are not as they should be: the program may write anything.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/unit/verbs_api/rdma_cm_objects.h"

namespace urnic::test {
namespace {

struct Command {
  const char* name;
  std::uint32_t number;
  std::size_t bytes;  ///< without the header; the least that the kernel reads
  std::size_t room;   ///< the least for the response
};

constexpr Command kCommands[] = {
    {"CREATE_ID", RDMA_USER_CM_CMD_CREATE_ID, 24, 4},
    {"DESTROY_ID", RDMA_USER_CM_CMD_DESTROY_ID, 16, 4},
    {"BIND_IP", RDMA_USER_CM_CMD_BIND_IP, 40, 0},
    {"RESOLVE_IP", RDMA_USER_CM_CMD_RESOLVE_IP, 64, 0},
    {"RESOLVE_ROUTE", RDMA_USER_CM_CMD_RESOLVE_ROUTE, 8, 0},
    {"QUERY_ROUTE", RDMA_USER_CM_CMD_QUERY_ROUTE, 16, 200},
    {"CONNECT", RDMA_USER_CM_CMD_CONNECT, 280, 0},
    {"LISTEN", RDMA_USER_CM_CMD_LISTEN, 8, 0},
    {"ACCEPT", RDMA_USER_CM_CMD_ACCEPT, 288, 0},
    {"REJECT", RDMA_USER_CM_CMD_REJECT, 264, 0},
    {"DISCONNECT", RDMA_USER_CM_CMD_DISCONNECT, 4, 0},
    {"INIT_QP_ATTR", RDMA_USER_CM_CMD_INIT_QP_ATTR, 16, 144},
    {"GET_EVENT", RDMA_USER_CM_CMD_GET_EVENT, 8, 324},
    {"SET_OPTION", RDMA_USER_CM_CMD_SET_OPTION, 24, 0},
    {"NOTIFY", RDMA_USER_CM_CMD_NOTIFY, 8, 0},
    {"JOIN_IP_MCAST", RDMA_USER_CM_CMD_JOIN_IP_MCAST, 48, 4},
    {"LEAVE_MCAST", RDMA_USER_CM_CMD_LEAVE_MCAST, 16, 4},
    {"MIGRATE_ID", RDMA_USER_CM_CMD_MIGRATE_ID, 16, 4},
    {"QUERY", RDMA_USER_CM_CMD_QUERY, 16, 0},
    {"BIND", RDMA_USER_CM_CMD_BIND, 136, 0},
    {"RESOLVE_ADDR", RDMA_USER_CM_CMD_RESOLVE_ADDR, 272, 0},
    {"JOIN_MCAST", RDMA_USER_CM_CMD_JOIN_MCAST, 152, 4},
};

std::vector<std::byte> with_header(std::uint32_t number, std::size_t in, std::size_t out, std::size_t size) {
  const rdma_ucm_cmd_hdr header{
      .cmd = number, .in = static_cast<std::uint16_t>(in), .out = static_cast<std::uint16_t>(out)};
  std::vector<std::byte> bytes(sizeof(header) + size);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

int write(CmChannel& channel, const std::vector<std::byte>& bytes) {
  return channel.write_bytes(bytes.data(), bytes.size());
}

TEST(RdmaCmCommand, HasAHeader) {
  CmChannel channel;
  const auto bytes = with_header(RDMA_USER_CM_CMD_LISTEN, 8, 0, 8);
  for (std::size_t size = 0; size < sizeof(rdma_ucm_cmd_hdr); ++size) {
    EXPECT_EQ(channel.write_bytes(bytes.data(), size), EINVAL) << size;
  }
}

TEST(RdmaCmCommand, IsAsLongAsItSays) {
  CmChannel channel;
  for (const Command& command : kCommands) {
    EXPECT_EQ(write(channel, with_header(command.number, command.bytes, command.room, command.bytes - 1)),
              EINVAL)
        << command.name;
    EXPECT_EQ(write(channel, with_header(command.number, 0xffff, command.room, command.bytes)), EINVAL)
        << command.name;
  }
}

TEST(RdmaCmCommand, IsNotShorterThanItsStruct) {
  CmChannel channel(O_NONBLOCK);
  for (const Command& command : kCommands) {
    for (const std::size_t bytes : {std::size_t{0}, command.bytes - 1}) {
      EXPECT_EQ(write(channel, with_header(command.number, bytes, command.room, bytes)), EINVAL)
          << command.name;
    }
    EXPECT_NE(write(channel, with_header(command.number, command.bytes, command.room, command.bytes)), ENOSPC)
        << command.name;
  }
}

TEST(RdmaCmCommand, MayBeLongerThanItsStruct) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  for (const std::size_t more : {1, 8, 4000, 60000}) {
    auto bytes = with_header(RDMA_USER_CM_CMD_LISTEN, 8 + more, 0, 8 + more);
    const std::uint32_t unknown = id + 1;
    std::memcpy(bytes.data() + sizeof(rdma_ucm_cmd_hdr), &unknown, sizeof(unknown));
    EXPECT_EQ(write(channel, bytes), ENOENT) << more;
  }
}

TEST(RdmaCmCommand, HasRoomForItsResponse) {
  CmChannel channel(O_NONBLOCK);
  for (const Command& command : kCommands) {
    if (command.room == 0) continue;
    EXPECT_EQ(write(channel, with_header(command.number, command.bytes, command.room - 1, command.bytes)),
              ENOSPC)
        << command.name;
  }
}

TEST(RdmaCmCommand, IsOneOfThoseThatThereAre) {
  CmChannel channel;
  EXPECT_EQ(write(channel, with_header(RDMA_USER_CM_CMD_GET_OPTION, 0, 0, 0)), ENOSYS);
  // RESOLVE_IB_SERVICE and WRITE_CM_EVENT, of newer kernels.
  EXPECT_EQ(write(channel, with_header(RDMA_USER_CM_CMD_JOIN_MCAST + 1, 0, 0, 0)), EOPNOTSUPP);
  EXPECT_EQ(write(channel, with_header(RDMA_USER_CM_CMD_JOIN_MCAST + 2, 0, 0, 0)), EOPNOTSUPP);
  EXPECT_EQ(write(channel, with_header(RDMA_USER_CM_CMD_JOIN_MCAST + 3, 0, 0, 0)), EINVAL);
  EXPECT_EQ(write(channel, with_header(0xffffffff, 0, 0, 0)), EINVAL);
}

TEST(RdmaCmCommand, StandsInMemoryThatCanBeRead) {
  CmChannel channel;
  EXPECT_EQ(channel.write_bytes(nullptr, 100), EFAULT);
  // The header can be read, and what follows cannot.
  constexpr std::size_t kPage = 4096;
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + kPage, kPage, PROT_NONE), 0);
  for (const Command& command : kCommands) {
    const auto bytes = with_header(command.number, command.bytes, command.room, 0);
    std::byte* const at = pages + kPage - bytes.size();
    std::memcpy(at, bytes.data(), bytes.size());
    EXPECT_EQ(channel.write_bytes(at, bytes.size() + command.bytes), EFAULT) << command.name;
    EXPECT_EQ(channel.write_bytes(pages + kPage - 4, bytes.size()), EFAULT) << command.name;
  }
  munmap(pages, 2 * kPage);
}

TEST(RdmaCmCommand, NamesAnIdThatThereIs) {
  CmChannel channel(O_NONBLOCK);
  CmChannel other;
  const std::uint32_t id = other.create(1);
  const sockaddr_in address = ipv4(kOwnIpv4, 0);
  rdma_ucm_query_route_resp route{};
  rdma_ucm_query_addr_resp known{};
  ib_uverbs_qp_attr attributes{};
  for (const auto& [wrong, expected] : {std::pair{id, EINVAL}, {0xffffffffu, ENOENT}, {id + 1, ENOENT}}) {
    EXPECT_EQ(channel.destroy(wrong), expected);
    EXPECT_EQ(channel.bind(wrong, address), expected);
    EXPECT_EQ(channel.bind_any(wrong, &address, sizeof(address)), expected);
    EXPECT_EQ(channel.resolve(wrong, address), expected);
    EXPECT_EQ(channel.resolve_route(wrong), expected);
    EXPECT_EQ(channel.query_route(wrong, route), expected);
    EXPECT_EQ(channel.query(wrong, RDMA_USER_CM_QUERY_ADDR, &known, sizeof(known)), expected);
    EXPECT_EQ(channel.listen(wrong), expected);
    EXPECT_EQ(channel.connect(wrong, 1), expected);
    EXPECT_EQ(channel.accept(wrong, 1, 1), expected);
    EXPECT_EQ(channel.establish(wrong), expected);
    EXPECT_EQ(channel.disconnect(wrong), expected);
    EXPECT_EQ(channel.init_qp_attributes(wrong, IBV_QPS_INIT, attributes), expected);
    EXPECT_EQ(channel.reject(wrong), expected);
    EXPECT_EQ(channel.write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = wrong, .event = 4}), expected);
  }
}

TEST(RdmaCmCommand, MakesAnIdForEveryPortSpaceWithItsService) {
  CmChannel channel;
  const auto create = [&](std::uint16_t space, std::uint8_t qp_type) {
    rdma_ucm_create_id_resp response{};
    rdma_ucm_create_id command{};
    command.response = reinterpret_cast<std::uintptr_t>(&response);
    command.ps = space;
    command.qp_type = qp_type;
    return channel.write(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof(response));
  };
  for (const std::uint16_t space :
       std::initializer_list<std::uint16_t>{RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB}) {
    EXPECT_EQ(create(space, 0), 0) << space;  // the kernel does not look at the type
    EXPECT_EQ(create(space, 0xff), 0) << space;
  }
  for (const std::uint8_t type : std::initializer_list<std::uint8_t>{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
                                                                     IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    EXPECT_EQ(create(RDMA_PS_IB, type), 0) << int{type};
  }
  for (const int type : {0, 1, 5, 8, 11, 0xff}) {
    EXPECT_EQ(create(RDMA_PS_IB, static_cast<std::uint8_t>(type)), EINVAL) << type;
  }
  for (const int space : {0, 1, 0x107, 0xffff}) {
    EXPECT_EQ(create(static_cast<std::uint16_t>(space), IBV_QPT_RC), EINVAL) << space;
  }
}

TEST(RdmaCmCommand, MakesNoIdOfWhichTheProgramCannotLearn) {
  CmChannel channel;
  rdma_ucm_create_id command{};
  command.response = 8;
  command.ps = RDMA_PS_TCP;
  const std::uint32_t before = channel.create(1);
  ASSERT_EQ(channel.write(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof(rdma_ucm_create_id_resp)), EFAULT);
  EXPECT_EQ(channel.destroy(before + 1), ENOENT);
}

TEST(RdmaCmCommand, SetsOptions) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  const auto set = [&](std::uint32_t level, std::uint32_t name, const void* value, std::uint32_t size) {
    rdma_ucm_set_option command{};
    command.optval = reinterpret_cast<std::uintptr_t>(value);
    command.id = id;
    command.level = level;
    command.optname = name;
    command.optlen = size;
    return channel.write(RDMA_USER_CM_CMD_SET_OPTION, command);
  };
  const int one = 1;
  const std::uint8_t byte = 20;
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof(one)), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), 0);
  for (const std::uint32_t name : {RDMA_OPTION_ID_TOS, RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY}) {
    for (const std::uint32_t size : {0u, 2u, 5u, 0xffffffffu}) {
      EXPECT_EQ(set(RDMA_OPTION_ID, name, &one, size), EINVAL) << name << ' ' << size;
    }
  }
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, nullptr, 1), EFAULT);
  EXPECT_EQ(set(RDMA_OPTION_ID, 4, &one, 4), ENOSYS);
  EXPECT_EQ(set(RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &one, 4), EOPNOTSUPP);
  EXPECT_EQ(set(2, 0, &one, 4), ENOSYS);
}

TEST(RdmaCmCommand, RejectsForReasonsThatTheKernelKnows) {
  CmChannel channel;
  const std::uint32_t id = channel.create(1);
  for (const int reason : {1, 8, 27, 29, 34, 36, 255}) {
    EXPECT_EQ(channel.reject(id, static_cast<std::uint8_t>(reason)), EINVAL) << reason;
    EXPECT_EQ(channel.reject(0xffffffff, static_cast<std::uint8_t>(reason)), EINVAL) << reason;
  }
  for (const int reason : {0, 28, 35}) {
    EXPECT_EQ(channel.reject(0xffffffff, static_cast<std::uint8_t>(reason)), ENOENT) << reason;
  }
}

}  // namespace
}  // namespace urnic::test
