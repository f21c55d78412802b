// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs say of a queue pair for RSS.
#pragma once

#include "nic/raw/rss_hash.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/device/offered_hash_fields.h"

namespace urnic::verbs_api {

/// Whether a queue pair is for RSS, by its mask.
inline bool is_rss(const ibv_qp_init_attr_ex& init_attr) {
  return (init_attr.comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH)) != 0;
}

/// The hash of one that is. EINVAL for what makes no sense, as a table without a hash, a key that is not 40
/// bytes long, a hash over nothing to choose among several work queues, or receives of its own; EOPNOTSUPP
/// for other types and hash functions, IPsec and inner headers, and sending.
Result<nic::RssHash, Error> to_rss_hash(const ibv_qp_init_attr_ex& init_attr);

}  // namespace urnic::verbs_api
