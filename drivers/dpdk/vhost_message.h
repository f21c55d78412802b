// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of the vhost-user protocol, by which a front lends a back its memory and rings over a Unix socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/descriptor.h"

namespace urnic::drivers::vhost {

// The protocol is QEMU's: "Vhost-user Protocol" in its documentation, docs/interop/vhost-user. All numbers
// are in the byte order of the machine. Only what a front without VHOST_USER_F_PROTOCOL_FEATURES needs is
// here.

enum class Request : std::uint32_t {
  kGetFeatures = 1,  ///< answered with 64 bits of features
  kSetFeatures = 2,
  kSetOwner = 3,
  kSetMemoryTable = 5,
  kSetRingSize = 8,
  kSetRingAddress = 9,
  kSetRingBase = 10,
  kGetRingBase = 11,  ///< stops a ring; answered with its RingState
  kSetRingKick = 12,
  kSetRingCall = 13,
};

/// Of a ring: a size, a position or nothing, by request.
struct RingState {
  std::uint32_t index;
  std::uint32_t number;
};

struct RingAddress {
  std::uint32_t index;
  std::uint32_t flags;
  std::uint64_t descriptors;  ///< this and the next two: addresses in the front's process
  std::uint64_t used;
  std::uint64_t available;
  std::uint64_t log;
};

/// The memory table with one region in it, whose file goes with the message.
struct OneRegion {
  std::uint32_t regions = 1;
  std::uint32_t padding = 0;
  std::uint64_t guest_address;  ///< by which rings name the memory; here the same as user_address
  std::uint64_t bytes;
  std::uint64_t user_address;  ///< in the front's process
  std::uint64_t file_offset;
};

struct Message {
  Request request;
  std::vector<std::byte> payload;
  std::vector<Descriptor> descriptors;

  /// The payload as a `T`, or nothing if its size is another.
  template <typename T>
  std::optional<T> as() const {
    if (payload.size() != sizeof(T)) return std::nullopt;
    T value;
    __builtin_memcpy(&value, payload.data(), sizeof(T));
    return value;
  }
};

/// Waits for one message as long as the socket's own timeout allows. Nothing when it does not come, is not
/// one or the other side has hung up. Descriptors in it are close-on-exec.
std::optional<Message> receive(int socket);

/// Sends one message; false when the other side does not take it. Never raises SIGPIPE.
bool send(int socket, Request request, std::span<const std::byte> payload = {},
          std::span<const int> fds = {});
bool send_reply(int socket, Request request, std::span<const std::byte> payload);

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace urnic::drivers::vhost
