// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Verbs objects that are destroyed at the end of a scope, which must succeed. Plain libibverbs otherwise: the
// tests in this folder are programs that know <infiniband/verbs.h> and are linked with the drop-in.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace urnic::test {

template <auto kDestroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const {
    EXPECT_EQ(kDestroy(object), 0);
  }
};

using ContextPtr = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroy<ibv_destroy_srq>>;
using MwPtr = std::unique_ptr<ibv_mw, Destroy<ibv_dealloc_mw>>;
using XrcdPtr = std::unique_ptr<ibv_xrcd, Destroy<ibv_close_xrcd>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroy<ibv_destroy_ah>>;

/// Opens the only device.
ContextPtr open_device();

/// GID table indices, as the device promises them.
inline constexpr std::uint8_t kLinkLocalGid = 0;
inline constexpr std::uint8_t kIpv4Gid = 1;
inline constexpr int kEmptyGid = 5;

inline constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// What an RC queue pair is made with: room for 16 work requests of 4 elements each way, 64 bytes inline.
ibv_qp_init_attr rc_attributes(ibv_cq* cq);
/// The same for another type.
ibv_qp_init_attr qp_attributes(ibv_qp_type type, ibv_cq* cq);

/// Moves a fresh queue pair of any type but UD to RTS, connected to `remote_qpn` of this same device. The
/// first return that is not 0.
int to_init(ibv_qp* qp);
int to_ready_to_receive(ibv_qp* qp, std::uint32_t remote_qpn);
int to_ready_to_send(ibv_qp* qp);
int connect(ibv_qp* qp, std::uint32_t remote_qpn);
/// The same for a datagram queue pair.
int start_datagrams(ibv_qp* qp, std::uint32_t qkey);
/// The address of this same device, seen from it.
ibv_ah_attr own_address(ibv_context* context, std::uint8_t gid_index = kIpv4Gid);

/// Waits for a completion for up to 5 seconds.
ibv_wc next_completion(ibv_cq* cq);
/// Whether there is none, after giving one some time to come.
bool stays_empty(ibv_cq* cq);

/// Memory with a region over it.
class Buffer {
 public:
  Buffer(ibv_pd* pd, std::size_t size, int access = kAllAccess);

  std::uint8_t* data() { return bytes_.data(); }
  std::vector<std::uint8_t>& bytes() { return bytes_; }
  ibv_mr* mr() { return mr_.get(); }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
  std::uint32_t rkey() const { return mr_->rkey; }
  /// `length` bytes from `offset` on.
  ibv_sge sge(std::size_t offset, std::size_t length) const;
  ibv_sge sge() const { return sge(0, bytes_.size()); }
  /// Different at every position, and for every seed.
  void fill(std::uint8_t seed);

 private:
  std::vector<std::uint8_t> bytes_;
  MrPtr mr_;
};

/// Two connected queue pairs of one device, each with a completion queue of its own.
class Pair {
 public:
  explicit Pair(bool all_signaled = false, ibv_qp_type type = IBV_QPT_RC);

  ibv_context* context() { return context_.get(); }
  ibv_pd* pd() { return pd_.get(); }
  ibv_cq* cq_a() { return cq_a_.get(); }
  ibv_cq* cq_b() { return cq_b_.get(); }
  ibv_qp* a() { return a_.get(); }
  ibv_qp* b() { return b_.get(); }

 private:
  ContextPtr context_;
  PdPtr pd_;
  CqPtr cq_a_;
  CqPtr cq_b_;
  QpPtr a_;
  QpPtr b_;
};

/// Posts one work request; the errno value.
int post_receive(ibv_qp* qp, std::uint64_t wr_id, const std::vector<ibv_sge>& sges);
int post_srq_receive(ibv_srq* srq, std::uint64_t wr_id, const std::vector<ibv_sge>& sges);
int post_send(ibv_qp* qp, ibv_send_wr wr, const std::vector<ibv_sge>& sges);
/// A signaled work request of `opcode`, for post_send().
ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t wr_id = 1);
/// The same with a remote address.
ibv_send_wr request(ibv_wr_opcode opcode, const Buffer& remote, std::uint64_t wr_id = 1);

}  // namespace urnic::test
