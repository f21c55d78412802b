// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Verbs that rdma-core has had since versions 59 to 65, for clients that were built with its newer headers.
// The header that we are built with need not have them, and may have them: so they have names of our own
// here, and theirs for the linker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// IBV_EVENT_DEVICE_SPEED_CHANGE of rdma-core 65, which no device here has.
inline constexpr int kEventDeviceSpeedChange = 20;

/// struct ibv_buf, which programs do not look into.
struct Buffer;

/// Which members of MrInitAttributes mean something: enum ibv_mr_init_attr_mask.
enum MrInitAttributesMask : std::uint64_t {
  kMrHasIova = 1 << 0,
  kMrHasAddress = 1 << 1,
  kMrHasFd = 1 << 2,
  kMrHasFdOffset = 1 << 3,
  kMrHasDmaHandle = 1 << 4,
  kMrHasBuffer = 1 << 5,
};

/// struct ibv_mr_init_attr of rdma-core 65. In 59 to 64 it ends earlier; a member is read only if `comp_mask`
/// names it.
struct MrInitAttributes {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* addr;
  int fd;
  std::uint64_t fd_offset;
  void* dmah;
  Buffer* buf;
};

#pragma GCC visibility push(default)

/// Registers memory of the process, at an address of its own or at `iova`, a dma-buf, or a part of a buffer.
/// EINVAL: not one of these, or a part that is not within the buffer; EOPNOTSUPP: a DMA handle, or a member
/// that is not known here.
ibv_mr* reg_mr_ex(ibv_pd* pd, const MrInitAttributes* attributes) __asm__("ibv_reg_mr_ex");

/// Memory in whole pages, of `size` bytes at least, and its handle in `buffer`. The PD must outlive it.
/// EINVAL: no size.
void* alloc_buf(ibv_pd* pd, std::size_t size, Buffer** buffer) __asm__("ibv_alloc_buf");
void free_buf(Buffer* buffer) __asm__("ibv_free_buf");
/// Registers a part of it, which begins at `address`. EINVAL: another PD than the buffer's, or not within it.
ibv_mr* reg_buf_mr(ibv_pd* pd, Buffer* buffer, void* address, std::size_t length,
                   int access) __asm__("ibv_reg_buf_mr");
/// -1 and ENODATA: no buffer here is a dma-buf.
int export_buf_dmabuf_fd(Buffer* buffer) __asm__("ibv_export_buf_dmabuf_fd");

/// In units of 100 Mb/s. 0, or an errno value.
int query_port_speed(ibv_context* context, std::uint32_t port,
                     std::uint64_t* speed) __asm__("ibv_query_port_speed");

// Not offered (not_offered.cc): null and EOPNOTSUPP, -1 and EOPNOTSUPP, or EOPNOTSUPP.
void* alloc_dmah(ibv_context* context, void* attributes) __asm__("ibv_alloc_dmah");
int dealloc_dmah(void* handle) __asm__("ibv_dealloc_dmah");
int dm_export_dmabuf_fd(ibv_dm* dm) __asm__("ibv_dm_export_dmabuf_fd");
int query_comp_cntr_caps(ibv_context* context, void* capabilities,
                         std::size_t size) __asm__("_ibv_query_comp_cntr_caps");
void* create_comp_cntr(ibv_context* context, void* attributes) __asm__("ibv_create_comp_cntr");
int destroy_comp_cntr(void* counter) __asm__("ibv_destroy_comp_cntr");
int set_comp_cntr(void* counter, std::uint64_t value) __asm__("ibv_set_comp_cntr");
int set_err_comp_cntr(void* counter, std::uint64_t value) __asm__("ibv_set_err_comp_cntr");
int inc_comp_cntr(void* counter, std::uint64_t amount) __asm__("ibv_inc_comp_cntr");
int inc_err_comp_cntr(void* counter, std::uint64_t amount) __asm__("ibv_inc_err_comp_cntr");
int read_comp_cntr(void* counter, std::uint64_t* value) __asm__("ibv_read_comp_cntr");
int read_err_comp_cntr(void* counter, std::uint64_t* value) __asm__("ibv_read_err_comp_cntr");
int qp_attach_comp_cntr(ibv_qp* qp, void* counter, void* attributes) __asm__("ibv_qp_attach_comp_cntr");

#pragma GCC visibility pop

}  // namespace urnic::verbs_api
