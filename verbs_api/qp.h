// Qp: a queue pair as programs hold it, plain and extended in one.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/queue_pair.h"
#include "verbs_api/libibverbs.h"
#include "verbs_api/work_request_builder.h"

namespace urnic::verbs_api {

struct Qp : ibv_qp_ex {
  Qp(ibv_context& opened, const ibv_qp_init_attr_ex& wanted);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  static Qp& of(ibv_qp* qp) { return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }

  /// Takes the device's queue pair away; the context is closing.
  void end();

  std::unique_ptr<nic::QueuePair> inner;
  const ibv_xrcd* xrcd;                         ///< of an XRC target
  std::unique_ptr<WorkRequestBuilder> builder;  ///< null unless made with send operations flags
  std::uint32_t events_fetched = 0;             ///< under the lock of AsyncEvents
};

}  // namespace urnic::verbs_api
