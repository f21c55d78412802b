// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Newer verbs that this device does not offer: DMA handles, device memory as a dma-buf, completion counters.
// Like drivers without them in rdma-core 65, each says EOPNOTSUPP.
#include <cerrno>

#include "verbs_api/abi/newer_verbs.h"
#include "verbs_api/device/failure.h"

namespace urnic::verbs_api {

void* alloc_dmah(ibv_context*, void*) {
  return fail(EOPNOTSUPP);
}

int dealloc_dmah(void*) {
  return EOPNOTSUPP;
}

int dm_export_dmabuf_fd(ibv_dm*) {
  errno = EOPNOTSUPP;
  return -1;
}

int query_comp_cntr_caps(ibv_context*, void*, std::size_t) {
  return EOPNOTSUPP;
}

void* create_comp_cntr(ibv_context*, void*) {
  return fail(EOPNOTSUPP);
}

int destroy_comp_cntr(void*) {
  return EOPNOTSUPP;
}

int set_comp_cntr(void*, std::uint64_t) {
  return EOPNOTSUPP;
}

int set_err_comp_cntr(void*, std::uint64_t) {
  return EOPNOTSUPP;
}

int inc_comp_cntr(void*, std::uint64_t) {
  return EOPNOTSUPP;
}

int inc_err_comp_cntr(void*, std::uint64_t) {
  return EOPNOTSUPP;
}

int read_comp_cntr(void*, std::uint64_t*) {
  return EOPNOTSUPP;
}

int read_err_comp_cntr(void*, std::uint64_t*) {
  return EOPNOTSUPP;
}

int qp_attach_comp_cntr(ibv_qp*, void*, void*) {
  return EOPNOTSUPP;
}

}  // namespace urnic::verbs_api
