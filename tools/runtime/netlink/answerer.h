// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Answerer: what the kernel's RDMA netlink would say, of urnic's devices.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/runtime/netlink/message.h"
#include "tools/runtime/netlink/state.h"

namespace urnic::netlink {

/// The program that asks, and how it wants to be answered.
struct Asker {
  std::uint32_t port = 0;         ///< of its socket, for the answers' heads
  bool wants_text = false;        ///< NETLINK_EXT_ACK: errors in words
  bool wants_short_acks = false;  ///< NETLINK_CAP_ACK: errors without the request
  bool is_admin = false;          ///< CAP_NET_ADMIN
  bool has_dump_running = false;  ///< it has not read all of the one before
};

/// The kernel's own RDMA netlink, on a host that has it.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Its answers to one request, message by message. None: it says nothing, or cannot be reached.
  virtual std::vector<Bytes> ask(const Request& request, const Asker& asker) = 0;
};

/// The client NLDEV of RDMA netlink: devices, ports, resources, counters. Facts of Linux'
/// drivers/infiniband/core/nldev.c and netlink.c: which attributes answers have and requests need, and which
/// errors there are. What the kernel would do to a device is not done here (EOPNOTSUPP).
///
/// Where the kernel has RDMA netlink, requests that do not concern our devices go there, and lists of all
/// devices are its list, and then ours.
class Answerer {
 public:
  /// The first index of our devices where the kernel has some, too: its own begin with 0.
  static constexpr std::uint32_t kFirstIndexBesideKernel = 1u << 16;
  /// The most that is sent at once: what the kernel's dumps begin with, and buffers of a page take
  /// (libmnl's).
  static constexpr std::size_t kMostAtOnce = 3776;

  /// Both outlive this; `kernel` may be null. `rdma_cm` is the device number that the node of rdma_cm has in
  /// the program.
  Answerer(State& state, Kernel* kernel, dev_t rdma_cm) : state_(state), kernel_(kernel), rdma_cm_(rdma_cm) {}

  /// The answers to what a program has sent: each is to arrive at once, and has one message or more. Any
  /// bytes are taken.
  std::vector<Bytes> answer(std::span<const std::byte> sent, const Asker& asker);

 private:
  State& state_;
  Kernel* const kernel_;
  const dev_t rdma_cm_;
};

}  // namespace urnic::netlink
