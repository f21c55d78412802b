// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/flow/flow.h"

#include <cerrno>
#include <memory>
#include <mutex>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/flow/counters.h"
#include "verbs_api/flow/flow_attributes.h"
#include "verbs_api/queues/qp.h"

namespace urnic::verbs_api {

Flow::Flow(ibv_context& opened) : ibv_flow{} {
  context = &opened;
}

Flow::~Flow() {
  if (id != nic::FlowId{}) {
    end();  // creation was not finished
  }
}

void Flow::end() {
  const auto destroyed = Context::of(context).nic().destroy_flow(id);
  id = {};
  if (!destroyed) explain("close_device", destroyed.error());
}

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attr) noexcept {
  if (attr == nullptr) return fail(EINVAL);
  if (const int fault = objects().check(qp); fault != 0) return fail(fault);
  Context& owner = Context::of(qp->context);
  auto wish = to_flow_rule(*attr);
  if (!wish) return fail(explain("create_flow", wish.error()));
  if (wish.value().counters != nullptr) {
    ibv_counters* const counters = wish.value().counters;
    const std::lock_guard lock(owner.mutex());  // they are not destroyed meanwhile
    if (objects().check_of(owner.context, counters) != 0) {
      return fail(
          explain("create_flow", {.code = EINVAL, .message = "these counters are not of this context"}));
    }
    wish.value().rule.counts = Counters::of(counters).counts;
  }
  return or_out_of_memory([&]() -> ibv_flow* {
    auto created = std::make_unique<Flow>(*qp->context);
    const auto made = owner.nic().create_flow(*Qp::of(qp).inner, wish.value().rule);
    if (!made) return fail(explain("create_flow", made.error()));
    created->id = made.value();
    created->handle = transport::to_integer(made.value());
    objects().add(created.get());
    return created.release();
  });
}

int destroy_flow(ibv_flow* flow) noexcept {
  ObjectClaim claim(flow);
  if (claim.error() != 0) return refuse(claim.error());
  Flow& own_flow = Flow::of(flow);
  Context& owner = Context::of(flow->context);
  if (const auto destroyed = owner.nic().destroy_flow(own_flow.id); !destroyed) {
    return refuse(explain("destroy_flow", destroyed.error()));
  }
  claim.take_out();
  own_flow.id = {};
  delete &own_flow;
  return 0;
}

}  // namespace urnic::verbs_api
