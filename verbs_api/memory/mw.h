// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mw: a memory window as programs hold it.
#pragma once

#include <cstdint>

#include "transport/dma.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct Mw : ibv_mw {
  Mw(ibv_pd& domain, ibv_mw_type mw_type);
  ~Mw();
  Mw(const Mw&) = delete;
  Mw& operator=(const Mw&) = delete;
  static Mw& of(ibv_mw* mw) { return *static_cast<Mw*>(mw); }

  /// Deallocates; the context is closing.
  void end();

  std::uint32_t key = 0;  ///< that it was made with, 0 before; `rkey` follows what a program binds
};

/// What a bind work request asks for. EINVAL: rights that windows do not have, or a region that is not there
/// or of another context. Whether region and window fit is found out when it is executed.
Result<transport::WindowBinding, int> to_binding(const ibv_mw& mw, std::uint32_t new_rkey,
                                                 const ibv_mw_bind_info& info);
/// The same for a work request that is posted, which is for type 2 alone: ibv_bind_mw() chooses the keys of
/// the others. Only the low 8 bits of `new_rkey` count, as with rdma_rxe, mlx5 and irdma.
Result<transport::WindowBinding, int> to_type_2_binding(const ibv_mw* mw, std::uint32_t new_rkey,
                                                        const ibv_mw_bind_info& info);
/// Once the bind is posted: programs find the new key in `mw.rkey`, as with irdma. Any thread.
void show_key(ibv_mw& mw, transport::Rkey rkey);

}  // namespace urnic::verbs_api
