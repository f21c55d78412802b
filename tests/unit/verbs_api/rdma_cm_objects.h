// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A channel of rdma_cm as librdmacm has it: a descriptor to which the kernel's commands are written. By way
// of the functions that the preloaded library calls, as the tests are not preloaded with it.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace urnic::test {

/// enum rdma_cm_event_type, whose header belongs to librdmacm.
enum CmEvent : std::uint32_t {
  kAddressResolved,
  kAddressError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddressChange,
  kTimewaitExit,
};

/// The NIC's addresses (main.cc).
inline constexpr const char* kOwnIpv4 = "10.77.9.1";
inline constexpr const char* kOwnIpv6 = "fd77::9";

sockaddr_in ipv4(const std::string& address, std::uint16_t port);
sockaddr_in6 ipv6(const std::string& address, std::uint16_t port);

class CmChannel {
 public:
  /// `flags` as open(2) takes them.
  explicit CmChannel(int flags = 0);
  ~CmChannel();
  CmChannel(const CmChannel&) = delete;
  CmChannel& operator=(const CmChannel&) = delete;

  int fd() const { return fd_; }

  /// Writes `size` bytes from there; 0 or errno.
  int write_bytes(const void* bytes, std::size_t size);
  /// Writes a command with its header.
  template <typename Command>
  int write(std::uint32_t number, const Command& command, std::size_t room = 0) {
    return write_bytes(number, &command, sizeof(command), room);
  }
  int write_bytes(std::uint32_t number, const void* command, std::size_t size, std::size_t room);

  // --- Each returns 0 or errno, except where noted ---

  /// The number of a new id, which must come.
  std::uint32_t create(std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP, std::uint8_t qp_type = 0);
  int destroy(std::uint32_t id, std::uint32_t* fetched = nullptr);
  /// Takes the id from the channel `from`.
  int migrate(std::uint32_t id, int from, std::uint32_t* fetched = nullptr);
  int bind(std::uint32_t id, const sockaddr_in& address);
  int bind(std::uint32_t id, const sockaddr_in6& address);
  /// By the commands for all addresses; `size` is what the command says.
  int bind_any(std::uint32_t id, const void* address, std::size_t size);
  int resolve(std::uint32_t id, const sockaddr_in& to);
  int resolve_route(std::uint32_t id);
  int query_route(std::uint32_t id, rdma_ucm_query_route_resp& response);
  int query(std::uint32_t id, std::uint32_t option, void* response, std::size_t room);
  int listen(std::uint32_t id, std::uint32_t backlog = 0);
  int connect(std::uint32_t id, std::uint32_t qp, const std::string& private_data = {},
              const rdma_ucm_ece& ece = {});
  int accept(std::uint32_t id, std::uint64_t uid, std::uint32_t qp, const std::string& private_data = {},
             const rdma_ucm_ece& ece = {});
  int establish(std::uint32_t id);
  int reject(std::uint32_t id, std::uint8_t reason = 0, const std::string& private_data = {});
  int disconnect(std::uint32_t id);
  int init_qp_attributes(std::uint32_t id, std::uint32_t state, ib_uverbs_qp_attr& attributes);

  /// Whether poll(2) says that there are events.
  bool is_readable(int timeout_ms = 0) const;
  int get_event(rdma_ucm_event_resp& event, std::size_t room = sizeof(rdma_ucm_event_resp));
  /// The next event, which must come within 5 seconds and be of this type.
  rdma_ucm_event_resp expect_event(CmEvent type);

 private:
  int fd_;
};

/// The port of a query's source or destination.
std::uint16_t port_of(const sockaddr_in6& address);

/// Moves a fresh id to a resolved route to the NIC's own IPv4 address.
void resolve_to(CmChannel& channel, std::uint32_t id, std::uint16_t port);
/// Binds a fresh id to a free port of any address and listens; the port.
std::uint16_t listen_somewhere(CmChannel& channel, std::uint32_t id);

}  // namespace urnic::test
