// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/srq.h"

#include <fmt/core.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/acknowledgements.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/xrcd.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

Srq::Srq(ibv_pd& domain, void* program_context) : ibv_srq{} {
  context = domain.context;
  srq_context = program_context;
  pd = &domain;
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&cond, nullptr);
}

Srq::~Srq() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
  pthread_cond_destroy(&cond);
  pthread_mutex_destroy(&mutex);
}

void Srq::stop_watching() {
  DeviceLedger* const ledgers = Context::of(context).ledgers();
  if (ledger != nullptr && ledgers != nullptr) ledgers->remove_srq(handle);
}

void Srq::end() {
  stop_watching();
  const auto destroyed = Context::of(context).nic().destroy_srq(inner);
  if (!destroyed) explain("close_device", destroyed.error());
}

namespace {

/// For the sanitizer: how full it is.
void watch_state(Srq& srq, DeviceLedger& ledgers) {
  ledgers.add_srq(srq.handle, srq.ledger, [queue = srq.inner.get()] {
    return SrqWatch::State{.waiting = queue->waiting(), .limit = queue->size().limit};
  });
}

/// For the sanitizer, if it looks: by what the program has requested of it.
void watch_posts(Srq& srq, std::uint32_t requested) {
  DeviceLedger* const ledgers = Context::of(srq.context).ledgers();
  if (ledgers == nullptr) return;
  srq.ledger =
      std::make_shared<SrqLedger>(SrqLedger::Facts{.name = fmt::format("SRQ {:#x}", srq.handle),
                                                   .domain = srq.inner->attributes().pd,
                                                   .room = {requested, srq.inner->attributes().max_wr},
                                                   .is_for_xrc = srq.xrcd != nullptr},
                                  ledgers->memory(), sanitizer());
  srq.inner->use(*srq.ledger);
  watch_state(srq, *ledgers);
  sanitizer().complain(Finding::kMissingOnSomeNics, fmt::format("SRQ {:#x}", srq.handle),
                       [] { return std::string("it is a shared receive queue, which E810 does not have"); });
}

/// For XRC when there is a domain and a completion queue; `limits` become those that were granted.
ibv_srq* create(ibv_pd& pd, void* program_context, ibv_srq_attr& limits, ibv_xrcd* xrcd = nullptr,
                ibv_cq* cq = nullptr) {
  Context& owner = Context::of(pd.context);
  if (owner.nic().config().personality->shared_receive_queues == nic::Offer::kNo) return fail(EOPNOTSUPP);
  return or_out_of_memory([&]() -> ibv_srq* {
    auto created = std::make_unique<Srq>(pd, program_context);
    auto inner = owner.nic().create_srq({.pd = Pd::of(&pd).inner.get(),
                                         .max_wr = limits.max_wr,
                                         .max_sge = limits.max_sge,
                                         .xrc_domain = xrcd != nullptr ? Xrcd::of(xrcd).inner : nullptr,
                                         .completions = cq != nullptr ? Cq::of(cq).inner.get() : nullptr,
                                         .context = created.get()});
    if (!inner) return fail(explain("create_srq", inner.error()));
    created->inner = std::move(inner).value();
    created->xrcd = xrcd;
    created->handle = created->inner->number();
    watch_posts(*created, limits.max_wr);
    limits.max_wr = created->inner->attributes().max_wr;
    limits.max_sge = created->inner->attributes().max_sge;
    objects().add(created.get());
    return created.release();
  });
}

/// For the sanitizer: the program has changed it.
void note_changes(Srq& srq, const nic::SharedReceiveQueue::Changes& changes) {
  DeviceLedger* const ledgers = Context::of(srq.context).ledgers();
  if (srq.ledger == nullptr || ledgers == nullptr) return;
  if (changes.max_wr) srq.ledger->resized({*changes.max_wr, srq.inner->size().max_wr});
  if (changes.limit) ledgers->srqs().armed(srq.handle, *changes.limit);
}

void wait_for_acknowledgements(Srq& srq) {
  wait_until_acknowledged(
      srq.mutex, srq.cond, [&] { return srq.events_completed == srq.events_fetched; },
      [&] { return fmt::format("SRQ {:#x}", srq.handle); });
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init_attr) noexcept {
  constexpr std::uint32_t kForXrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | kForXrc;

  const std::uint32_t mask = init_attr->comp_mask;
  const bool has_type = (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  const unsigned int type = has_type ? number_in(init_attr->srq_type) : unsigned{IBV_SRQT_BASIC};
  if ((mask & ~kKnown) != 0 || type == IBV_SRQT_TM) return fail(EOPNOTSUPP);
  if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail(EINVAL);
  if (const int fault = objects().check_of(*context, init_attr->pd); fault != 0) return fail(fault);
  if (type == IBV_SRQT_BASIC && (mask & kForXrc) == 0) {
    return create(*init_attr->pd, init_attr->srq_context, init_attr->attr);
  }
  if (type != IBV_SRQT_XRC || (mask & kForXrc) != kForXrc) return fail(EINVAL);
  if (const int fault = objects().check_of(*context, init_attr->xrcd); fault != 0) return fail(fault);
  if (const int fault = objects().check_of(*context, init_attr->cq); fault != 0) return fail(fault);
  return create(*init_attr->pd, init_attr->srq_context, init_attr->attr, init_attr->xrcd, init_attr->cq);
}

// Only XRC names a queue by it, but mlx5 and hns tell it of all.
int get_srq_number(ibv_srq* srq, std::uint32_t* number) noexcept {
  if (const int fault = objects().check(srq); fault != 0) return fault;
  *number = Srq::of(srq).inner->number();
  return 0;
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Srq;
using urnic::verbs_api::Verb;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr) {
  if (const int error = injected_error(Verb::kCreateSrq); error != 0) return fail(error);
  if (const int fault = objects().check(pd); fault != 0) return urnic::verbs_api::fail(fault);
  return urnic::verbs_api::create(*pd, srq_init_attr->srq_context, srq_init_attr->attr);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* srq_attr, int srq_attr_mask) {
  if (const int error = injected_error(Verb::kModifySrq); error != 0) return refuse(error);
  if (const int fault = objects().check(srq); fault != 0) return refuse(fault);
  if ((srq_attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return refuse(EINVAL);
  urnic::nic::SharedReceiveQueue::Changes changes;
  if ((srq_attr_mask & IBV_SRQ_MAX_WR) != 0) changes.max_wr = srq_attr->max_wr;
  if ((srq_attr_mask & IBV_SRQ_LIMIT) != 0) changes.limit = srq_attr->srq_limit;
  Srq& own_srq = Srq::of(srq);
  const auto modified = own_srq.inner->modify(changes);
  if (!modified) return refuse(explain("modify_srq", modified.error()));
  urnic::verbs_api::note_changes(own_srq, changes);
  return 0;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* srq_attr) {
  if (const int error = injected_error(Verb::kQuerySrq); error != 0) return refuse(error);
  if (const int fault = objects().check(srq); fault != 0) return refuse(fault);
  const auto& inner = *Srq::of(srq).inner;
  const auto size = inner.size();
  *srq_attr = {.max_wr = size.max_wr, .max_sge = inner.attributes().max_sge, .srq_limit = size.limit};
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
  if (const int error = injected_error(Verb::kDestroySrq); error != 0) return refuse(error);
  ObjectClaim claim(srq);
  if (claim.error() != 0) return refuse(claim.error());
  Srq& own_srq = Srq::of(srq);
  Context& owner = Context::of(srq->context);
  if (own_srq.inner->users.load() != 0) return urnic::verbs_api::refuse_busy("destroy_srq", *srq);
  own_srq.stop_watching();
  const auto destroyed = owner.nic().destroy_srq(own_srq.inner);
  if (!destroyed && destroyed.error().code == EBUSY) {
    return urnic::verbs_api::refuse_busy("destroy_srq", *srq);
  }
  if (!destroyed) return refuse(explain("destroy_srq", destroyed.error()));
  owner.async_events().forget(Srq::of(srq).events_fetched);
  urnic::verbs_api::wait_for_acknowledgements(own_srq);
  claim.take_out();
  urnic::verbs_api::sanitizer().end_object(own_srq, *srq);
  return 0;
}

}  // extern "C"
