// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/verbs_api/rdma_cm_objects.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "verbs_api/rdma_cm/entry_points.h"

namespace urnic::test {

sockaddr_in ipv4(const std::string& address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htobe16(port);
  EXPECT_EQ(inet_pton(AF_INET, address.c_str(), &result.sin_addr), 1);
  return result;
}

sockaddr_in6 ipv6(const std::string& address, std::uint16_t port) {
  sockaddr_in6 result{};
  result.sin6_family = AF_INET6;
  result.sin6_port = htobe16(port);
  EXPECT_EQ(inet_pton(AF_INET6, address.c_str(), &result.sin6_addr), 1);
  return result;
}

std::uint16_t port_of(const sockaddr_in6& address) {
  return be16toh(address.sin6_port);  // where it is in IPv4, too
}

CmChannel::CmChannel(int flags) : fd_(urnic_rdma_cm_open(flags)) {
  EXPECT_GE(fd_, 0) << std::strerror(errno);
}

CmChannel::~CmChannel() {
  urnic_rdma_cm_close(fd_);
  ::close(fd_);
}

int CmChannel::write_bytes(const void* bytes, std::size_t size) {
  int handled = 0;
  const ssize_t written = urnic_rdma_cm_write(fd_, bytes, size, &handled);
  EXPECT_EQ(handled, 1);
  if (written < 0) return errno;
  EXPECT_EQ(static_cast<std::size_t>(written), size);
  return 0;
}

int CmChannel::write_bytes(std::uint32_t number, const void* command, std::size_t size, std::size_t room) {
  const rdma_ucm_cmd_hdr header{
      .cmd = number, .in = static_cast<std::uint16_t>(size), .out = static_cast<std::uint16_t>(room)};
  std::vector<std::byte> bytes(sizeof(header) + size);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), command, size);
  return write_bytes(bytes.data(), bytes.size());
}

namespace {

std::uint64_t address_of(void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

rdma_ucm_conn_param parameters(std::uint32_t qp, const std::string& private_data) {
  rdma_ucm_conn_param result{};
  result.qp_num = qp;
  result.responder_resources = 4;
  result.initiator_depth = 2;
  result.retry_count = 7;
  result.rnr_retry_count = 6;
  result.valid = 1;
  std::memcpy(result.private_data, private_data.data(), private_data.size());
  result.private_data_len = static_cast<std::uint8_t>(private_data.size());
  return result;
}

}  // namespace

std::uint32_t CmChannel::create(std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type) {
  rdma_ucm_create_id_resp response{};
  rdma_ucm_create_id command{};
  command.uid = uid;
  command.response = address_of(&response);
  command.ps = space;
  command.qp_type = qp_type;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof(response)), 0);
  return response.id;
}

int CmChannel::destroy(std::uint32_t id, std::uint32_t* fetched) {
  rdma_ucm_destroy_id_resp response{};
  rdma_ucm_destroy_id command{};
  command.response = address_of(&response);
  command.id = id;
  const int failed = write(RDMA_USER_CM_CMD_DESTROY_ID, command, sizeof(response));
  if (fetched != nullptr) *fetched = response.events_reported;
  return failed;
}

int CmChannel::migrate(std::uint32_t id, int from, std::uint32_t* fetched) {
  rdma_ucm_migrate_resp response{};
  rdma_ucm_migrate_id command{};
  command.response = address_of(&response);
  command.id = id;
  command.fd = static_cast<std::uint32_t>(from);
  const int failed = write(RDMA_USER_CM_CMD_MIGRATE_ID, command, sizeof(response));
  if (fetched != nullptr) *fetched = response.events_reported;
  return failed;
}

int CmChannel::bind(std::uint32_t id, const sockaddr_in& address) {
  rdma_ucm_bind_ip command{};
  std::memcpy(&command.addr, &address, sizeof(address));
  command.id = id;
  return write(RDMA_USER_CM_CMD_BIND_IP, command);
}

int CmChannel::bind(std::uint32_t id, const sockaddr_in6& address) {
  rdma_ucm_bind_ip command{};
  command.addr = address;
  command.id = id;
  return write(RDMA_USER_CM_CMD_BIND_IP, command);
}

int CmChannel::bind_any(std::uint32_t id, const void* address, std::size_t size) {
  rdma_ucm_bind command{};
  command.id = id;
  command.addr_size = static_cast<std::uint16_t>(size);
  std::memcpy(&command.addr, address, size);
  return write(RDMA_USER_CM_CMD_BIND, command);
}

int CmChannel::resolve(std::uint32_t id, const sockaddr_in& to) {
  rdma_ucm_resolve_ip command{};
  std::memcpy(&command.dst_addr, &to, sizeof(to));
  command.id = id;
  command.timeout_ms = 2000;
  return write(RDMA_USER_CM_CMD_RESOLVE_IP, command);
}

int CmChannel::resolve_route(std::uint32_t id) {
  return write(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = id, .timeout_ms = 2000});
}

int CmChannel::query_route(std::uint32_t id, rdma_ucm_query_route_resp& response) {
  rdma_ucm_query command{};
  command.response = address_of(&response);
  command.id = id;
  return write(RDMA_USER_CM_CMD_QUERY_ROUTE, command, sizeof(response));
}

int CmChannel::query(std::uint32_t id, std::uint32_t option, void* response, std::size_t room) {
  rdma_ucm_query command{};
  command.response = address_of(response);
  command.id = id;
  command.option = option;
  return write(RDMA_USER_CM_CMD_QUERY, command, room);
}

int CmChannel::listen(std::uint32_t id, std::uint32_t backlog) {
  return write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = id, .backlog = backlog});
}

int CmChannel::connect(std::uint32_t id, std::uint32_t qp, const std::string& private_data,
                       const rdma_ucm_ece& ece) {
  rdma_ucm_connect command{};
  command.conn_param = parameters(qp, private_data);
  command.ece = ece;
  command.id = id;
  return write(RDMA_USER_CM_CMD_CONNECT, command);
}

int CmChannel::accept(std::uint32_t id, std::uint64_t uid, std::uint32_t qp, const std::string& private_data,
                      const rdma_ucm_ece& ece) {
  rdma_ucm_accept command{};
  command.ece = ece;
  command.uid = uid;
  command.conn_param = parameters(qp, private_data);
  command.id = id;
  return write(RDMA_USER_CM_CMD_ACCEPT, command);
}

int CmChannel::establish(std::uint32_t id) {
  rdma_ucm_accept command{};
  command.id = id;
  return write(RDMA_USER_CM_CMD_ACCEPT, command);
}

int CmChannel::reject(std::uint32_t id, std::uint8_t reason, const std::string& private_data) {
  rdma_ucm_reject command{};
  command.id = id;
  command.reason = reason;
  std::memcpy(command.private_data, private_data.data(), private_data.size());
  command.private_data_len = static_cast<std::uint8_t>(private_data.size());
  return write(RDMA_USER_CM_CMD_REJECT, command);
}

int CmChannel::disconnect(std::uint32_t id) {
  return write(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = id});
}

int CmChannel::init_qp_attributes(std::uint32_t id, std::uint32_t state, ib_uverbs_qp_attr& attributes) {
  rdma_ucm_init_qp_attr command{};
  command.response = address_of(&attributes);
  command.id = id;
  command.qp_state = state;
  return write(RDMA_USER_CM_CMD_INIT_QP_ATTR, command, sizeof(attributes));
}

bool CmChannel::is_readable(int timeout_ms) const {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, timeout_ms) == 1 && (waiting.revents & POLLIN) != 0;
}

int CmChannel::get_event(rdma_ucm_event_resp& event, std::size_t room) {
  rdma_ucm_get_event command{};
  command.response = address_of(&event);
  return write(RDMA_USER_CM_CMD_GET_EVENT, command, room);
}

rdma_ucm_event_resp CmChannel::expect_event(CmEvent type) {
  rdma_ucm_event_resp event;
  std::memset(&event, 0, sizeof(event));
  if (!is_readable(5000)) {
    ADD_FAILURE() << "event " << type << " does not come";
    return event;
  }
  EXPECT_EQ(get_event(event), 0);
  EXPECT_EQ(event.event, std::uint32_t{type});
  return event;
}

void resolve_to(CmChannel& channel, std::uint32_t id, std::uint16_t port) {
  ASSERT_EQ(channel.resolve(id, ipv4(kOwnIpv4, port)), 0);
  channel.expect_event(kAddressResolved);
  ASSERT_EQ(channel.resolve_route(id), 0);
  channel.expect_event(kRouteResolved);
}

std::uint16_t listen_somewhere(CmChannel& channel, std::uint32_t id) {
  EXPECT_EQ(channel.bind(id, ipv4("0.0.0.0", 0)), 0);
  EXPECT_EQ(channel.listen(id), 0);
  rdma_ucm_query_route_resp known{};
  EXPECT_EQ(channel.query_route(id, known), 0);
  return port_of(known.src_addr);
}

}  // namespace urnic::test
