// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/comp_channel.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/queues/cq.h"

namespace urnic::verbs_api {
namespace {

/// The sanitizer's, if it looks and the program is about to sleep until an event comes.
DeviceLedger* sleeps_watched(const ibv_comp_channel& channel) {
  DeviceLedger* const ledgers = Context::of(channel.context).ledgers();
  if (ledgers == nullptr || (fcntl(channel.fd, F_GETFL) & O_NONBLOCK) != 0) return nullptr;
  return ledgers;
}

void note_sleep(DeviceLedger& ledgers, const ibv_comp_channel& channel) {
  ledgers.sleeps().begins(&channel, std::chrono::steady_clock::now(), CallPath::here());
}

void check_event(DeviceLedger& ledgers, const Cq& queue) {
  if (queue.ledger != nullptr && queue.inner->has_only_told_of_old()) {
    ledgers.sleeps().got_event_of_old(*queue.ledger);
  }
}

}  // namespace
}  // namespace urnic::verbs_api

using urnic::verbs_api::CompChannel;
using urnic::verbs_api::Context;
using urnic::verbs_api::Cq;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::or_out_of_memory;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (const int error = injected_error(Verb::kCreateCompChannel); error != 0) return fail(error);
  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  return or_out_of_memory([&]() -> ibv_comp_channel* {
    auto created = std::make_unique<CompChannel>(*context);
    if (created->fd < 0) {
      return nullptr;  // errno is eventfd's
    }
    objects().add(created.get());
    return created.release();
  });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (const int error = injected_error(Verb::kDestroyCompChannel); error != 0) return refuse(error);
  ObjectClaim claim(channel);
  if (claim.error() != 0) return refuse(claim.error());
  Context& owner = Context::of(channel->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (channel->refcnt != 0) return urnic::verbs_api::refuse_busy("destroy_comp_channel", *channel);
    claim.take_out();
  }
  delete &CompChannel::of(channel);
  return 0;
}

// Not noexcept, and no destructors here: a thread that waits may be cancelled.
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (const int error = injected_error(Verb::kGetCqEvent); error != 0) {
    errno = error;
    return -1;
  }
  Context& owner = Context::of(channel->context);
  if (owner.is_dead()) {
    errno = owner.dead_error();
    return -1;
  }
  auto* const ledgers = urnic::verbs_api::sleeps_watched(*channel);
  if (ledgers != nullptr) urnic::verbs_api::note_sleep(*ledgers, *channel);
  const auto queue = CompChannel::of(channel).inner.wait();
  if (ledgers != nullptr) ledgers->sleeps().ends();
  if (!queue) {
    errno = queue.error();
    return -1;
  }
  if (ledgers != nullptr) {
    urnic::verbs_api::check_event(*ledgers, *static_cast<const Cq*>(queue.value()->context()));
  }
  *cq = static_cast<Cq*>(queue.value()->context())->abi();
  *cq_context = (*cq)->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int nevents) {
  pthread_mutex_lock(&cq->mutex);
  // Read under the lock: with an older number, an acknowledgement that follows another thread's would not
  // count.
  const std::uint32_t fetched = Cq::of(cq).inner->events_fetched.load();
  // Some programs acknowledge completions instead of events. More than there are to acknowledge do not count,
  // so that the two numbers, which may wrap around, meet.
  cq->comp_events_completed += std::min(nevents, fetched - cq->comp_events_completed);
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
