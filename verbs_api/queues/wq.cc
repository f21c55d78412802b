// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/wq.h"

#include <fmt/core.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/acknowledgements.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/queues/cq.h"

namespace urnic::verbs_api {

using transport::QpState;

Wq::Wq(ibv_pd& domain, ibv_cq& completions) : ibv_wq{} {
  context = domain.context;
  pd = &domain;
  cq = &completions;
  state = IBV_WQS_RESET;
  wq_type = IBV_WQT_RQ;
  post_recv = post_wq_receive;
}

Wq::~Wq() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
}

void Wq::end() {
  Context::of(context).nic().destroy_qp(std::move(inner));
}

namespace {

std::optional<QpState> to_state(const ibv_wq_state& state) {
  switch (number_in(state)) {
    case IBV_WQS_RESET:
      return QpState::kReset;
    case IBV_WQS_RDY:
      return QpState::kReadyToReceive;
    case IBV_WQS_ERR:
      return QpState::kError;
    default:
      return std::nullopt;
  }
}

ibv_wq_state to_wq_state(QpState state) {
  switch (state) {
    case QpState::kReset:
      return IBV_WQS_RESET;
    case QpState::kError:
      return IBV_WQS_ERR;
    default:
      return IBV_WQS_RDY;
  }
}

void wait_for_acknowledgements(Wq& wq) {
  wait_until_acknowledged(
      wq.mutex, wq.cond, [&] { return wq.events_completed == wq.events_fetched; },
      [&] { return fmt::format("WQ {:#x}", wq.wq_num); });
}

/// 0, or why no work queue of `context` has such attributes.
int find_fault(const ibv_context& context, const ibv_wq_init_attr& init_attr) {
  constexpr std::uint32_t kKnown = IBV_WQ_INIT_ATTR_FLAGS;
  if ((init_attr.comp_mask & ~kKnown) != 0 || number_in(init_attr.wq_type) != IBV_WQT_RQ ||
      init_attr.max_wr == 0) {
    return EINVAL;
  }
  if (const int fault = objects().check_of(context, init_attr.pd); fault != 0) return fault;
  if (const int fault = objects().check_of(context, init_attr.cq); fault != 0) return fault;
  const bool has_flags = (init_attr.comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0 && init_attr.create_flags != 0;
  return has_flags ? EOPNOTSUPP : 0;
}

}  // namespace

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* init_attr) noexcept {
  Context& owner = Context::of(context);
  if (init_attr == nullptr) return fail(EINVAL);
  if (const int fault = find_fault(*context, *init_attr); fault != 0) return fail(fault);
  // As for a queue pair: here the port opens if it is not.
  if (const auto started = owner.nic().start(); !started) return fail(report(started.error()));
  return or_out_of_memory([&]() -> ibv_wq* {
    auto created = std::make_unique<Wq>(*init_attr->pd, *init_attr->cq);
    auto inner = owner.nic().create_qp(
        {.type = nic::QpType::kWorkQueue,
         .capabilities = {.max_receive_wr = init_attr->max_wr, .max_receive_sge = init_attr->max_sge},
         .pd = Pd::of(init_attr->pd).inner.get(),
         .receive_queue = Cq::of(init_attr->cq).inner.get(),
         .context = created.get()});
    if (!inner) return fail(explain("create_wq", inner.error()));
    created->inner = std::move(inner).value();
    created->wq_num = to_integer(created->inner->number());
    created->handle = created->wq_num;
    init_attr->max_wr = created->inner->attributes().capabilities.max_receive_wr;
    init_attr->max_sge = created->inner->attributes().capabilities.max_receive_sge;
    objects().add(created.get());
    return created.release();
  });
}

int modify_wq(ibv_wq* wq, ibv_wq_attr* attr) noexcept {
  constexpr std::uint32_t kKnown = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS;

  if (const int fault = objects().check(wq); fault != 0) return refuse(fault);
  if (attr == nullptr || (attr->attr_mask & ~kKnown) != 0) return refuse(EINVAL);
  if ((attr->attr_mask & IBV_WQ_ATTR_FLAGS) != 0 && attr->flags_mask != 0) return refuse(EOPNOTSUPP);
  nic::QueuePair& inner = *Wq::of(wq).inner;
  if ((attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0 &&
      to_state(attr->curr_wq_state) != inner.query().state) {
    return refuse(EINVAL);
  }
  if ((attr->attr_mask & IBV_WQ_ATTR_STATE) != 0) {
    const std::optional<QpState> state = to_state(attr->wq_state);
    if (!state) return refuse(EINVAL);
    if (const auto modified = inner.modify({.state = state}); !modified) {
      return refuse(explain("modify_wq", modified.error()));
    }
    // Other threads may be doing the same.
    std::atomic_ref(wq->state).store(attr->wq_state, std::memory_order_relaxed);
  }
  if ((attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0) {
    attr->curr_wq_state = to_wq_state(inner.query().state.value_or(QpState::kReset));
  }
  return 0;
}

int destroy_wq(ibv_wq* wq) noexcept {
  ObjectClaim claim(wq);
  if (claim.error() != 0) return refuse(claim.error());
  Wq& own_wq = Wq::of(wq);
  Context& owner = Context::of(wq->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (const auto destroyable = owner.nic().check_destroyable(*own_wq.inner); !destroyable) {
      return refuse(explain("destroy_wq", destroyable.error()));
    }
  }
  own_wq.end();
  owner.async_events().forget(Wq::of(wq).events_fetched);
  wait_for_acknowledgements(own_wq);
  claim.take_out();
  pthread_cond_destroy(&wq->cond);
  pthread_mutex_destroy(&wq->mutex);
  delete &own_wq;
  return 0;
}

}  // namespace urnic::verbs_api
