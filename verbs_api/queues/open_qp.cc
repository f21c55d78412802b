// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XRC targets that are opened again, by number.
#include <cerrno>
#include <memory>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/xrcd.h"

namespace urnic::verbs_api {
namespace {

/// 0, or why no queue pair can be opened by that in `context`.
int find_fault(const ibv_context& context, const ibv_qp_open_attr& attr) {
  constexpr std::uint32_t kRequired = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  constexpr std::uint32_t kKnown = kRequired | IBV_QP_OPEN_ATTR_CONTEXT;
  if ((attr.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
  const bool is_complete = (attr.comp_mask & kRequired) == kRequired;
  if (!is_complete) return EINVAL;
  if (const int fault = objects().check_of(context, attr.xrcd); fault != 0) return fault;
  return number_in(attr.qp_type) == IBV_QPT_XRC_RECV ? 0 : EINVAL;
}

}  // namespace

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) noexcept {
  if (attr == nullptr) return fail(EINVAL);
  if (const int fault = find_fault(*context, *attr); fault != 0) return fail(fault);
  ibv_qp_init_attr_ex known{};
  known.qp_type = IBV_QPT_XRC_RECV;
  known.xrcd = attr->xrcd;
  if ((attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) known.qp_context = attr->qp_context;
  return or_out_of_memory([&]() -> ibv_qp* {
    auto opened = std::make_unique<Qp>(*context, known);
    auto handles = Context::of(context).owner().xrc_targets().open(
        *Xrcd::of(attr->xrcd).inner, transport::QpNumber{attr->qp_num}, opened->handle());
    if (handles == nullptr) {
      return fail(
          explain("open_qp",
                  {.code = EINVAL, .message = "the XRC domain has no receiving queue pair of that number"}));
    }
    opened->attach(std::move(handles));
    opened->qp_base.state = IBV_QPS_UNKNOWN;  // as rdma-core has it: others may change it
    objects().add(&opened->qp_base);
    return &opened.release()->qp_base;
  });
}

}  // namespace urnic::verbs_api
