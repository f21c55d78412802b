// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ECE (enhanced connection establishment): what the queue pairs at both ends of a connection can do beyond
// the standard.
#include <cerrno>

#include "nic/queues/queue_pair.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/vendor.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/queues/qp.h"

using urnic::verbs_api::explain;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::kVendorId;
using urnic::verbs_api::objects;
using urnic::verbs_api::Qp;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

// A queue pair that offers nothing says EOPNOTSUPP: by that error programs know devices without such options,
// librdmacm and pyverbs among them, as they do rdma_rxe. Offering nothing keeps a ConnectX on standard
// go-back-N (fact 48).

// rdma-core 65: without a vendor libibverbs itself says EOPNOTSUPP; mlx5 refuses another one's, and any
// comp_mask, and takes the last of several calls. librdmacm names our vendor and no options when the peer has
// another one, or none.
int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  if (const int error = injected_error(Verb::kSetEce); error != 0) return refuse(error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  if (ece == nullptr) return refuse(EINVAL);
  urnic::nic::QueuePair& inner = *Qp::of(qp).inner;
  if (inner.offered_options() == 0 || ece->vendor_id == 0) return refuse(EOPNOTSUPP);
  if (ece->comp_mask != 0 || ece->vendor_id != kVendorId) return refuse(EINVAL);
  const auto agreed = inner.agree_on(ece->options);
  if (!agreed) return refuse(explain("set_ece", agreed.error()));
  ece->options = inner.options();  // what is accepted, by its manual page
  return 0;
}

int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  if (const int error = injected_error(Verb::kQueryEce); error != 0) return refuse(error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  if (ece == nullptr) return refuse(EINVAL);
  *ece = {};
  const urnic::nic::QueuePair& inner = *Qp::of(qp).inner;
  if (inner.offered_options() == 0) return refuse(EOPNOTSUPP);
  ece->vendor_id = kVendorId;
  ece->options = inner.options();
  return 0;
}

}  // extern "C"
