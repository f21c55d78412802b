// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/cq.h"

#include <fmt/core.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "nic/errors.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/acknowledgements.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/queues/comp_channel.h"

namespace urnic::verbs_api {

namespace {

/// Of the process, as another of its contexts has none that is the same.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

}  // namespace

Cq::Cq(ibv_context& opened, ibv_comp_channel* notified, void* program_context) : ibv_cq_ex{} {
  context = &opened;
  channel = notified;
  cq_context = program_context;
  handle = next_number();
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&cond, nullptr);
}

Cq::~Cq() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
  pthread_cond_destroy(&cond);
  pthread_mutex_destroy(&mutex);
}

void Cq::stop_watching() {
  if (ledger != nullptr) ledgers->sleeps().remove(*ledger);
}

void Cq::end() {
  stop_watching();
  if (channel != nullptr) CompChannel::of(channel).inner.forget(*inner);
  const auto destroyed = Context::of(context).nic().destroy_cq(inner);
  if (!destroyed) explain("close_device", destroyed.error());
}

namespace {

/// For the sanitizer.
SleepLedger::Events events_of(const nic::CompletionQueue& queue) {
  nic::CompletionChannel* const channel = queue.channel();
  if (channel == nullptr) return {};
  return {.waiting = channel->events_of(queue), .taken = queue.events_fetched.load()};
}

/// For the sanitizer, if it looks, or where failures are explained.
void watch_polls(Cq& cq, const Context& owner, std::uint32_t requested) {
  std::string name = fmt::format("CQ {}", cq.handle);
  cq.ledgers = owner.ledgers();
  if (cq.ledgers != nullptr) {
    cq.ledger = std::make_shared<CqLedger>(std::move(name), requested, sanitizer());
    cq.ledgers->sleeps().add(
        cq.channel, cq.ledger, [queue = cq.inner.get()] { return queue->is_asleep(); },
        [queue = cq.inner.get()] { return events_of(*queue); });
  } else if (Accounts* const accounts = owner.owner().accounts()) {
    cq.account = std::make_shared<CqAccount>(std::move(name), requested, *accounts, sanitizer());
  }
  cq.is_watched = cq.ledger != nullptr || cq.account != nullptr;
}

Cq* create(Context& owner, std::uint32_t capacity, void* program_context, ibv_comp_channel* channel,
           std::uint32_t completion_vector, const nic::CompletionQueueOptions& options = {}) {
  if (owner.is_dead()) return fail(owner.dead_error());
  if (completion_vector >= static_cast<std::uint32_t>(owner.context.num_comp_vectors)) {
    return fail(explain(
        "create_cq", nic::invalid(fmt::format("comp_vector is {}, and the context has {} (num_comp_vectors)",
                                              completion_vector, owner.context.num_comp_vectors))));
  }
  if (const int fault = channel != nullptr ? objects().check_of(owner.context, channel) : 0; fault != 0) {
    return fail(fault);
  }
  return or_out_of_memory([&]() -> Cq* {
    auto created = std::make_unique<Cq>(owner.context, channel, program_context);
    nic::CompletionChannel* const notified = channel != nullptr ? &CompChannel::of(channel).inner : nullptr;
    auto inner = owner.nic().create_cq(capacity, notified, created.get(), options);
    if (!inner) return fail(explain("create_cq", inner.error()));
    created->inner = std::move(inner).value();
    created->cqe = static_cast<int>(created->inner->capacity());
    const nic::Personality* const like = owner.nic().config().personality;
    if (like != &nic::personality_of(nic::Column::kDefault)) {
      created->like = like;
      created->rooms = owner.nic().polled_rooms();
    }
    created->adversary = owner.nic().adversary();
    created->is_unusual = created->like != nullptr || created->adversary != nullptr;
    watch_polls(*created, owner, capacity);

    const std::lock_guard lock(owner.mutex());
    objects().add(created->abi());
    if (channel != nullptr) ++channel->refcnt;
    return created.release();
  });
}

/// 0, or why it is none of that context.
int check_parent_domain(const ibv_context& context, ibv_pd* pd) {
  const int fault = objects().check_of(context, pd);
  return fault == 0 && Pd::of(pd).parent == nullptr ? EINVAL : fault;
}

/// Every event that was fetched is acknowledged afterwards.
void wait_for_acknowledgements(Cq& cq) {
  const std::uint32_t completions_fetched = cq.inner->events_fetched.load();
  const std::uint32_t async_fetched = cq.async_events_fetched;
  const auto is_done = [&] {
    return cq.comp_events_completed == completions_fetched && cq.async_events_completed == async_fetched;
  };
  wait_until_acknowledged(cq.mutex, cq.cond, is_done, [&] { return fmt::format("CQ {}", cq.handle); });
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init_attr) noexcept {
  constexpr std::uint32_t kKnownFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

  constexpr std::uint32_t kKnownMask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

  const bool has_domain = (init_attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  const std::uint32_t flags =
      (init_attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? init_attr->flags : 0;
  const bool has_times =
      Context::of(context).nic().config().personality->completion_times == nic::Offer::kYes;
  if ((init_attr->wc_flags & kTimeWcFlags) != 0 && !has_times) return fail(EOPNOTSUPP);
  if ((init_attr->comp_mask & ~kKnownMask) != 0 || (flags & ~kKnownFlags) != 0 ||
      (init_attr->wc_flags & ~kOfferedWcFlags) != 0) {
    return fail(EOPNOTSUPP);
  }
  if (const int fault = has_domain ? check_parent_domain(*context, init_attr->parent_domain) : 0;
      fault != 0) {
    return fail(fault);
  }
  const nic::CompletionQueueOptions options{
      .has_times = (init_attr->wc_flags & kTimeWcFlags) != 0,
      .pd = has_domain ? Pd::of(init_attr->parent_domain).inner.get() : nullptr};
  Cq* const created = create(Context::of(context), init_attr->cqe, init_attr->cq_context, init_attr->channel,
                             init_attr->comp_vector, options);
  if (created == nullptr) return nullptr;
  created->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  if (created->single_threaded && created->ledger != nullptr) created->ledger->promise_one_thread();
  fill_extended_operations(*created, init_attr->wc_flags);
  return created;
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept {
  if (const int fault = objects().check(cq); fault != 0) return fault;
  if (attr == nullptr) return EINVAL;
  if ((attr->attr_mask & ~std::uint32_t{IBV_CQ_ATTR_MODERATE}) != 0) return EOPNOTSUPP;
  const nic::Personality& like = *Context::of(cq->context).nic().config().personality;
  if ((attr->attr_mask & IBV_CQ_ATTR_MODERATE) != 0) {
    if (like.max_cq_count == 0) return EOPNOTSUPP;
    if (attr->moderate.cq_count > like.max_cq_count || attr->moderate.cq_period > like.max_cq_period) {
      return EINVAL;
    }
    Cq::of(cq).inner->moderate(
        {.count = attr->moderate.cq_count, .period = std::chrono::microseconds(attr->moderate.cq_period)});
  }
  return 0;
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::CompChannel;
using urnic::verbs_api::Context;
using urnic::verbs_api::Cq;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int comp_vector) {
  if (const int error = injected_error(Verb::kCreateCq); error != 0) return fail(error);
  if (cqe < 0 || comp_vector < 0) {
    return fail(explain("create_cq", urnic::nic::invalid("cqe and comp_vector are not negative")));
  }
  Cq* const created = urnic::verbs_api::create(Context::of(context), static_cast<std::uint32_t>(cqe),
                                               cq_context, channel, static_cast<std::uint32_t>(comp_vector));
  return created != nullptr ? created->abi() : nullptr;
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (const int error = injected_error(Verb::kResizeCq); error != 0) return refuse(error);
  if (const int fault = objects().check(cq); fault != 0) return refuse(fault);
  Cq& resized = Cq::of(cq);
  const Context& owner = Context::of(cq->context);
  if (cqe < 0) return refuse(explain("resize_cq", urnic::nic::invalid("cqe is not negative")));
  try {
    std::unique_lock once(resized.resizing);
    const auto done = owner.nic().resize_cq(*resized.inner, static_cast<std::uint32_t>(cqe));
    if (!done) {
      once.unlock();  // explain() takes a lock under which others take this one
      return refuse(explain("resize_cq", done.error()));
    }
    cq->cqe = static_cast<int>(resized.inner->capacity());
    if (resized.ledger != nullptr) resized.ledger->resized(static_cast<std::uint32_t>(cqe));
    if (resized.account != nullptr) resized.account->resized(static_cast<std::uint32_t>(cqe));
    return 0;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

int ibv_destroy_cq(ibv_cq* cq) {
  if (const int error = injected_error(Verb::kDestroyCq); error != 0) return refuse(error);
  ObjectClaim claim(cq);
  if (claim.error() != 0) return refuse(claim.error());
  Cq& own_cq = Cq::of(cq);
  Context& owner = Context::of(cq->context);
  if (own_cq.inner->users.load() != 0) return urnic::verbs_api::refuse_busy("destroy_cq", *cq);
  // Nothing adds events any more. Those that the program has not fetched disappear; the others are waited
  // for, because a thread may be about to look at this queue.
  if (cq->channel != nullptr) CompChannel::of(cq->channel).inner.forget(*own_cq.inner);
  owner.async_events().forget(Cq::of(cq).async_events_fetched);
  urnic::verbs_api::wait_for_acknowledgements(own_cq);

  own_cq.stop_watching();
  const auto destroyed = owner.nic().destroy_cq(own_cq.inner);
  if (!destroyed) return refuse(explain("destroy_cq", destroyed.error()));
  {
    const std::lock_guard lock(owner.mutex());
    claim.take_out();
    if (cq->channel != nullptr) --cq->channel->refcnt;
  }
  own_cq.ledger.reset();
  urnic::verbs_api::sanitizer().end_object(own_cq, *cq);
  return 0;
}

}  // extern "C"
