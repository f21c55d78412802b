// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Registration by a struct that says of what (rdma-core 59), and of buffers (64).
#include <cerrno>

#include "verbs_api/abi/newer_verbs.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/buffer.h"

namespace urnic::verbs_api {
namespace {

/// What is asked of the part of a buffer: 0, or an errno value.
int check_part(const ibv_pd* pd, const MrInitAttributes& attributes) {
  if ((attributes.comp_mask & kMrHasAddress) == 0) return EINVAL;
  if (const int fault = objects().check(attributes.buf); fault != 0) return fault;
  const bool is_its_pd = attributes.buf->pd == pd;
  return is_its_pd && attributes.buf->contains(attributes.addr, attributes.length) ? 0 : EINVAL;
}

}  // namespace

ibv_mr* reg_mr_ex(ibv_pd* pd, const MrInitAttributes* attributes) {
  constexpr std::uint64_t kOffered = kMrHasIova | kMrHasAddress | kMrHasFd | kMrHasFdOffset | kMrHasBuffer;
  if (attributes == nullptr) return fail(EINVAL);
  const std::uint64_t mask = attributes->comp_mask;
  if ((mask & ~kOffered) != 0) return fail(EOPNOTSUPP);
  const bool is_dma_buf = (mask & (kMrHasFd | kMrHasFdOffset)) != 0;
  const bool is_memory = (mask & (kMrHasAddress | kMrHasBuffer)) != 0;
  if (is_dma_buf == is_memory) return fail(EINVAL);
  if (is_dma_buf) {
    if ((mask & kMrHasFd) == 0) return fail(EINVAL);
    return ibv_reg_dmabuf_mr(pd, (mask & kMrHasFdOffset) != 0 ? attributes->fd_offset : 0, attributes->length,
                             (mask & kMrHasIova) != 0 ? attributes->iova : 0, attributes->fd,
                             attributes->access);
  }
  if ((mask & kMrHasBuffer) != 0) {
    if (const int fault = check_part(pd, *attributes); fault != 0) return fail(fault);
  }
  const std::uint64_t iova =
      (mask & kMrHasIova) != 0 ? attributes->iova : reinterpret_cast<std::uintptr_t>(attributes->addr);
  return ibv_reg_mr_iova2(pd, attributes->addr, attributes->length, iova,
                          static_cast<unsigned int>(attributes->access));
}

ibv_mr* reg_buf_mr(ibv_pd* pd, Buffer* buffer, void* address, std::size_t length, int access) {
  const MrInitAttributes attributes{.length = length,
                                    .access = access,
                                    .comp_mask = kMrHasBuffer | kMrHasAddress,
                                    .iova = 0,
                                    .addr = address,
                                    .fd = -1,
                                    .fd_offset = 0,
                                    .dmah = nullptr,
                                    .buf = buffer};
  return reg_mr_ex(pd, &attributes);
}

}  // namespace urnic::verbs_api
