// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what any program writes to /dev/infiniband/rdma_cm.
//
// The input is a list of commands, each a byte of flags, the number of the command, how long it says that it
// is and how much room there is for the response (16 bits each, little endian), and the command itself. They
// go to two channels of one NIC whose frames come back to it. No command may write more than there is room
// for, or fail in a way that the kernel does not know.
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "verbs_api/rdma_cm/entry_points.h"

namespace urnic::test {
namespace {

using Bytes = std::span<const std::uint8_t>;

enum Flag : unsigned {
  kSecondChannel = 1,
  kBadPointer = 2,     ///< there is no memory where the response is to go
  kCutShort = 4,       ///< the last byte is not written
  kKnownId = 8,        ///< the id is an index of those that are known
  kOtherChannel = 16,  ///< the descriptor that is in a command is the other channel's
};

constexpr std::array kExpectedErrors = {EINVAL,        ENOENT,       EFAULT,     ENOSPC,  ENOSYS,
                                        EOPNOTSUPP,    EAGAIN,       ENOMEM,     EISCONN, EADDRINUSE,
                                        EADDRNOTAVAIL, EAFNOSUPPORT, ENETUNREACH};

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// The offset of the id in a command, after the header; by the command's number.
constexpr std::array<std::size_t, 23> kIdAt = {
    24,  // of CREATE_ID: none
    offsetof(rdma_ucm_destroy_id, id),
    offsetof(rdma_ucm_bind_ip, id),
    offsetof(rdma_ucm_resolve_ip, id),
    offsetof(rdma_ucm_resolve_route, id),
    offsetof(rdma_ucm_query, id),
    offsetof(rdma_ucm_connect, id),
    offsetof(rdma_ucm_listen, id),
    offsetof(rdma_ucm_accept, id),
    offsetof(rdma_ucm_reject, id),
    offsetof(rdma_ucm_disconnect, id),
    offsetof(rdma_ucm_init_qp_attr, id),
    8,  // of GET_EVENT: none
    0,  // of GET_OPTION: none
    offsetof(rdma_ucm_set_option, id),
    offsetof(rdma_ucm_notify, id),
    offsetof(rdma_ucm_join_ip_mcast, id),
    offsetof(rdma_ucm_destroy_id, id),
    offsetof(rdma_ucm_migrate_id, id),
    offsetof(rdma_ucm_query, id),
    offsetof(rdma_ucm_bind, id),
    offsetof(rdma_ucm_resolve_addr, id),
    offsetof(rdma_ucm_join_mcast, id),
};

/// Overwrites what is there, if that is inside.
template <typename Value>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, Value value) {
  if (at + sizeof(value) <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof(value));
}

class Program {
 public:
  Program() {
    for (int& channel : channels_) {
      channel = urnic_rdma_cm_open(O_RDWR | O_NONBLOCK);
      require(channel >= 0, "a channel can be opened");
    }
  }
  ~Program() {
    for (const int channel : channels_) {
      urnic_rdma_cm_close(channel);
      close(channel);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Writes the first command of `input` and takes it away.
  void write_one(Bytes& input) {
    const unsigned flags = input[0];
    rdma_ucm_cmd_hdr header{.cmd = input[1], .in = number_at(input, 2), .out = number_at(input, 4)};
    input = input.subspan(kRecordBytes);
    const Bytes taken = input.first(std::min<std::size_t>(header.in, input.size()));
    input = input.subspan(taken.size());

    std::vector<std::uint8_t> bytes(sizeof(header) + taken.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::copy(taken.begin(), taken.end(), bytes.begin() + sizeof(header));
    response_.fill(kUntouched);
    fill_in(bytes, header.cmd, flags);
    if ((flags & kCutShort) != 0 && !bytes.empty()) bytes.pop_back();

    int handled = 0;
    errno = 0;
    const ssize_t written =
        urnic_rdma_cm_write(channels_[flags & kSecondChannel], bytes.data(), bytes.size(), &handled);
    const int failed = errno;
    require(handled == 1, "a channel is a channel");
    require(written == -1 || written == static_cast<ssize_t>(bytes.size()),
            "all of it was written, or nothing");
    require(written != -1 ||
                std::find(kExpectedErrors.begin(), kExpectedErrors.end(), failed) != kExpectedErrors.end(),
            "errors are the kernel's errors");
    require(std::all_of(response_.begin() + header.out, response_.end(),
                        [](std::uint8_t byte) { return byte == kUntouched; }),
            "nothing is written beyond the room");
    if (written != -1) remember(header);
  }

  static constexpr std::size_t kRecordBytes = 6;

 private:
  static constexpr std::uint8_t kUntouched = 0xa5;

  static std::uint16_t number_at(Bytes bytes, std::size_t at) {
    return static_cast<std::uint16_t>(bytes[at] | bytes[at + 1] << 8);
  }

  /// Addresses of this process are not the input's to choose.
  void fill_in(std::vector<std::uint8_t>& bytes, std::uint32_t number, unsigned flags) {
    constexpr std::size_t kBody = sizeof(rdma_ucm_cmd_hdr);
    const std::uint64_t response =
        (flags & kBadPointer) != 0 ? 8 : reinterpret_cast<std::uintptr_t>(response_.data());
    const bool is_creation = number == RDMA_USER_CM_CMD_CREATE_ID;
    const bool has_pointer =
        is_creation || number == RDMA_USER_CM_CMD_DESTROY_ID || number == RDMA_USER_CM_CMD_QUERY_ROUTE ||
        number == RDMA_USER_CM_CMD_QUERY || number == RDMA_USER_CM_CMD_INIT_QP_ATTR ||
        number == RDMA_USER_CM_CMD_GET_EVENT || number == RDMA_USER_CM_CMD_SET_OPTION ||
        number == RDMA_USER_CM_CMD_JOIN_IP_MCAST || number == RDMA_USER_CM_CMD_LEAVE_MCAST ||
        number == RDMA_USER_CM_CMD_MIGRATE_ID || number == RDMA_USER_CM_CMD_JOIN_MCAST;
    if (has_pointer) {
      put(bytes, kBody + (is_creation ? offsetof(rdma_ucm_create_id, response) : 0), response);
      // An option's value is read from memory that the program did not write.
    }
    if ((flags & kKnownId) != 0 && number < kIdAt.size() && !ids_.empty()) {
      const std::size_t at = kBody + kIdAt[number];
      if (at + sizeof(std::uint32_t) <= bytes.size()) {
        put(bytes, at, ids_[bytes[at] % ids_.size()]);
      }
    }
    if (number == RDMA_USER_CM_CMD_MIGRATE_ID && (flags & kOtherChannel) != 0) {
      put(bytes, kBody + offsetof(rdma_ucm_migrate_id, fd), channels_[1 - (flags & kSecondChannel)]);
    }
  }

  /// Numbers in responses are what later commands need.
  void remember(const rdma_ucm_cmd_hdr& header) {
    std::optional<std::size_t> at;
    if (header.cmd == RDMA_USER_CM_CMD_CREATE_ID || header.cmd == RDMA_USER_CM_CMD_JOIN_IP_MCAST ||
        header.cmd == RDMA_USER_CM_CMD_JOIN_MCAST) {
      at = 0;
    } else if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) {
      at = offsetof(rdma_ucm_event_resp, id);
    }
    if (!at) return;
    std::uint32_t id = 0;
    std::memcpy(&id, response_.data() + *at, sizeof(id));
    ids_.push_back(id);
  }

  std::array<int, 2> channels_{};
  std::vector<std::uint32_t> ids_;
  std::array<std::uint8_t, 0x10000> response_{};
};

void prepare() {
  setenv("URNIC_PORT", "loopback", 1);
  setenv("URNIC_IP", "10.77.9.1/24", 1);
  setenv("URNIC_IP6", "fd77::9/64", 1);
}

}  // namespace
}  // namespace urnic::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_prepared = (urnic::test::prepare(), true);
  static_cast<void>(is_prepared);
  urnic::test::Program program;
  urnic::test::Bytes input(data, size);
  while (input.size() >= urnic::test::Program::kRecordBytes) program.write_one(input);
  return 0;
}
