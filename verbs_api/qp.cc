#include "verbs_api/qp.h"

#include <cerrno>
#include <mutex>
#include <utility>

#include "verbs_api/context.h"
#include "verbs_api/cq.h"
#include "verbs_api/failure.h"
#include "verbs_api/operations.h"
#include "verbs_api/pd.h"
#include "verbs_api/qp_attributes.h"
#include "verbs_api/untrusted_enum.h"

namespace urnic::verbs_api {

Qp::Qp(ibv_pd& pd, const ibv_qp_init_attr_ex& wanted) : ibv_qp_ex{} {
  qp_base.context = pd.context;
  qp_base.qp_context = wanted.qp_context;
  qp_base.pd = &pd;
  qp_base.send_cq = wanted.send_cq;
  qp_base.recv_cq = wanted.recv_cq;
  qp_base.state = IBV_QPS_RESET;
  qp_base.qp_type = wanted.qp_type;
  pthread_mutex_init(&qp_base.mutex, nullptr);
  pthread_cond_init(&qp_base.cond, nullptr);
}

Qp::~Qp() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
  pthread_cond_destroy(&qp_base.cond);
  pthread_mutex_destroy(&qp_base.mutex);
}

void Qp::end() {
  Context::of(qp_base.context).nic().destroy_qp(std::move(inner));
}

namespace {

/// 0, or why such a queue pair cannot be made.
int find_fault(const ibv_pd& pd, const ibv_qp_init_attr_ex& wanted) {
  switch (number_in(wanted.qp_type)) {
    case IBV_QPT_RC:
      break;
    case IBV_QPT_UC:
    case IBV_QPT_UD:
    case IBV_QPT_RAW_PACKET:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
    case IBV_QPT_DRIVER:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
  if (wanted.srq != nullptr) {
    return EOPNOTSUPP;
  }
  if (wanted.send_cq == nullptr || wanted.recv_cq == nullptr) {
    return EINVAL;
  }
  // Objects of two contexts do not mix: closing one of them would take away what the other one uses.
  return wanted.send_cq->context == pd.context && wanted.recv_cq->context == pd.context ? 0 : EINVAL;
}

/// `wanted` as ibv_create_qp_ex has it; its capabilities become those that were granted.
ibv_qp* create(ibv_pd& pd, ibv_qp_init_attr_ex& wanted) {
  Context& owner = Context::of(pd.context);
  if (owner.is_dead()) {
    return fail(owner.dead_error());
  }
  if (const int fault = find_fault(pd, wanted); fault != 0) {
    return fail(fault);
  }
  // The port opens here, at the first object that needs packets, and a person wants to know why it does not.
  if (const auto started = owner.nic().start(); !started) {
    return fail(report(started.error()));
  }
  return or_out_of_memory([&]() -> ibv_qp* {
    auto created = std::make_unique<Qp>(pd, wanted);
    auto inner = owner.nic().create_qp({.capabilities = to_capabilities(wanted.cap),
                                        .pd = Pd::of(&pd).inner.get(),
                                        .send_queue = Cq::of(wanted.send_cq).inner.get(),
                                        .receive_queue = Cq::of(wanted.recv_cq).inner.get(),
                                        .all_signaled = wanted.sq_sig_all != 0,
                                        .context = created.get()});
    if (!inner) {
      return fail(explain("create_qp", inner.error()));
    }
    created->inner = std::move(inner).value();
    created->qp_base.qp_num = to_integer(created->inner->number());
    created->qp_base.handle = created->qp_base.qp_num;
    wanted.cap = to_ibv_cap(created->inner->attributes().capabilities);
    if ((wanted.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
      created->builder = std::make_unique<WorkRequestBuilder>(*created->inner, wanted.send_ops_flags);
      fill_builders(*created);
    }
    const std::lock_guard lock(owner.mutex());
    owner.qps.insert(created.get());
    return &created.release()->qp_base;
  });
}

void wait_for_acknowledgements(Qp& qp) {
  pthread_mutex_lock(&qp.qp_base.mutex);
  while (qp.qp_base.events_completed != qp.events_fetched) {
    pthread_cond_wait(&qp.qp_base.cond, &qp.qp_base.mutex);
  }
  pthread_mutex_unlock(&qp.qp_base.mutex);
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* wanted) noexcept {
  constexpr std::uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

  const std::uint32_t mask = wanted->comp_mask;
  if ((mask & ~kKnown) != 0 || ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && wanted->create_flags != 0) ||
      ((mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
       (wanted->send_ops_flags & ~kOfferedSendOperations) != 0)) {
    return fail(EOPNOTSUPP);
  }
  if ((mask & IBV_QP_INIT_ATTR_PD) == 0 || wanted->pd == nullptr) {
    return fail(EINVAL);
  }
  return create(*wanted->pd, *wanted);
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::Qp;
using urnic::verbs_api::refuse;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  // The plain struct is the beginning of the extended one.
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_context = qp_init_attr->qp_context;
  wanted.send_cq = qp_init_attr->send_cq;
  wanted.recv_cq = qp_init_attr->recv_cq;
  wanted.srq = qp_init_attr->srq;
  wanted.cap = qp_init_attr->cap;
  wanted.qp_type = qp_init_attr->qp_type;
  wanted.sq_sig_all = qp_init_attr->sq_sig_all;
  ibv_qp* const created = urnic::verbs_api::create(*pd, wanted);
  if (created != nullptr) {
    qp_init_attr->cap = wanted.cap;
  }
  return created;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Qp& asked = Qp::of(qp);
  return asked.builder != nullptr ? &asked : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask) {
  const Context& owner = Context::of(qp->context);
  if (owner.is_dead()) {
    return refuse(owner.dead_error());
  }
  const auto attributes = urnic::verbs_api::to_qp_attributes(*attr, attr_mask);
  if (!attributes) {
    return refuse(explain("modify_qp", attributes.error()));
  }
  const auto modified = Qp::of(qp).inner->modify(attributes.value());
  if (!modified) {
    return refuse(explain("modify_qp", modified.error()));
  }
  if ((attr_mask & IBV_QP_STATE) != 0) {
    qp->state = attr->qp_state;
  }
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
  const Context& owner = Context::of(qp->context);
  if (owner.is_dead()) {
    return refuse(owner.dead_error());
  }
  const Qp& asked = Qp::of(qp);
  const auto& created = asked.inner->attributes();
  *attr = urnic::verbs_api::to_ibv_attributes(asked.inner->query(), created.capabilities);
  *init_attr = {};
  init_attr->qp_context = qp->qp_context;
  init_attr->send_cq = qp->send_cq;
  init_attr->recv_cq = qp->recv_cq;
  init_attr->cap = attr->cap;
  init_attr->qp_type = qp->qp_type;
  init_attr->sq_sig_all = created.all_signaled ? 1 : 0;
  qp->state = attr->qp_state;
  return 0;
}

// Within a packet the processor copies in the order it likes.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  Qp& doomed = Qp::of(qp);
  Context& owner = Context::of(qp->context);
  if (owner.is_dead()) {
    return refuse(owner.dead_error());
  }
  {
    const std::lock_guard lock(owner.mutex());
    owner.qps.erase(&doomed);
  }
  doomed.end();
  owner.async_events().forget(*qp);
  urnic::verbs_api::wait_for_acknowledgements(doomed);
  delete &doomed;
  return 0;
}

// Offering nothing keeps a ConnectX on standard go-back-N (fact 48).
int ibv_set_ece(ibv_qp*, ibv_ece*) {
  return refuse(EOPNOTSUPP);
}
int ibv_query_ece(ibv_qp*, ibv_ece*) {
  return refuse(EOPNOTSUPP);
}

}  // extern "C"
