// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RwqIndTable: an indirection table of work queues as programs hold it.
#pragma once

#include <memory>

#include "nic/raw/indirection_table.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct RwqIndTable : ibv_rwq_ind_table {
  RwqIndTable(ibv_context& opened, std::unique_ptr<nic::IndirectionTable> made);
  ~RwqIndTable();
  RwqIndTable(const RwqIndTable&) = delete;
  RwqIndTable& operator=(const RwqIndTable&) = delete;

  static RwqIndTable& of(ibv_rwq_ind_table* table) { return *static_cast<RwqIndTable*>(table); }

  /// Takes the device's table away; the context is closing and has ended the queue pairs.
  void end();

  std::unique_ptr<nic::IndirectionTable> inner;
};

}  // namespace urnic::verbs_api
