// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/event_raising.h"

#include <fmt/core.h>

#include <optional>

#include "nic/device/device.h"
#include "transport/types.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/srq.h"

namespace urnic::verbs_api {
namespace {

using Subject = AsyncEventRow::Subject;

std::string no_object(const char* kind, const AsyncFault& fault) {
  return fmt::format("there was no {} {} when its time came", kind, fault.object);
}

std::string raise_of_qp(const AsyncFault& fault) {
  std::optional<transport::QpNumber> number;
  nic::Device* nic = nullptr;
  objects().use_nth<ibv_qp>(ObjectKind::kQp, fault.object, [&](ibv_qp& qp) {
    number = transport::QpNumber{qp.qp_num};
    nic = &Context::of(qp.context).nic();
  });
  if (!number) return no_object("queue pair", fault);
  if (fault.event->breaks_queue_pairs) {
    nic->fail_queue_pairs([&](const nic::QueuePair& qp) { return qp.number() == *number; });
  }
  const bool is_there = objects().use_nth<ibv_qp>(
      ObjectKind::kQp, fault.object, [&](ibv_qp& qp) { Qp::of(&qp).handles->push(fault.event->type); });
  return is_there ? std::string() : no_object("queue pair", fault);
}

std::string raise_of_cq(const AsyncFault& fault) {
  const nic::CompletionQueue* broken = nullptr;
  nic::Device* nic = nullptr;
  objects().use_nth<ibv_cq>(ObjectKind::kCq, fault.object, [&](ibv_cq& cq) {
    broken = Cq::of(&cq).inner.get();
    nic = &Context::of(cq.context).nic();
  });
  if (broken == nullptr) return no_object("completion queue", fault);
  nic->fail_queue_pairs([&](const nic::QueuePair& qp) {
    return qp.attributes().send_queue == broken || qp.attributes().receive_queue == broken;
  });
  const bool is_there = objects().use_nth<ibv_cq>(ObjectKind::kCq, fault.object, [&](ibv_cq& cq) {
    const ibv_async_event event{.element = {.cq = &cq}, .event_type = fault.event->type};
    Context::of(cq.context).async_events().push(event, Cq::of(&cq).async_events_fetched);
  });
  return is_there ? std::string() : no_object("completion queue", fault);
}

std::string raise_of_srq(const AsyncFault& fault) {
  const nic::SharedReceiveQueue* broken = nullptr;
  nic::Device* nic = nullptr;
  objects().use_nth<ibv_srq>(ObjectKind::kSrq, fault.object, [&](ibv_srq& srq) {
    broken = Srq::of(&srq).inner.get();
    nic = &Context::of(srq.context).nic();
  });
  if (broken == nullptr) return no_object("shared receive queue", fault);
  if (fault.event->breaks_queue_pairs) {
    nic->fail_queue_pairs([&](const nic::QueuePair& qp) { return qp.attributes().srq == broken; });
  }
  const bool is_there = objects().use_nth<ibv_srq>(ObjectKind::kSrq, fault.object, [&](ibv_srq& srq) {
    const ibv_async_event event{.element = {.srq = &srq}, .event_type = fault.event->type};
    Context::of(srq.context).async_events().push(event, Srq::of(&srq).events_fetched);
  });
  return is_there ? std::string() : no_object("shared receive queue", fault);
}

std::string raise_of_port(const AsyncFault& fault) {
  ProcessDevices& process = ProcessDevices::instance();
  const ibv_event_type type = fault.event->type;
  if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE) {
    const auto changed = process.change_links(type == IBV_EVENT_PORT_ACTIVE);
    return changed ? std::string() : changed.error().message;
  }
  process.tell_all(type);
  return {};
}

}  // namespace

std::string raise_event(const AsyncFault& fault) {
  const auto devices = ProcessDevices::instance().get();
  if (!devices) return devices.error().message;
  switch (fault.event->subject) {
    case Subject::kOfDevice:
      call_faults().kill_device();
      for (const auto& device : devices.value()) {
        device->nic().fail_queue_pairs([](const nic::QueuePair&) { return true; });
      }
      ProcessDevices::instance().tell_all(fault.event->type);
      break;
    case Subject::kOfPort:
      return raise_of_port(fault);
    case Subject::kOfQp:
      return raise_of_qp(fault);
    case Subject::kOfCq:
      return raise_of_cq(fault);
    case Subject::kOfSrq:
      return raise_of_srq(fault);
  }
  return {};
}

void end_event(const AsyncFault&) {
  static_cast<void>(ProcessDevices::instance().change_links(true));
}

}  // namespace urnic::verbs_api
