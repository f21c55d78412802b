// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/xrcd.h"

#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/busy.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/srq.h"

namespace urnic::verbs_api {
namespace {

/// Whether queue pairs or shared receive queues were made with it.
bool is_used(const Xrcd& xrcd) {
  const auto uses_it = [&xrcd](const auto& object) { return object.xrcd == &xrcd; };
  return objects().has_any_of<Qp>(*xrcd.context, ObjectKind::kQp, uses_it) ||
         objects().has_any_of<Srq>(*xrcd.context, ObjectKind::kSrq, uses_it);
}

}  // namespace

Xrcd::~Xrcd() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
}

void Xrcd::end() {
  const auto closed = Context::of(context).owner().xrc_domains().close(Context::of(context).nic(), *inner);
  inner = nullptr;
  if (!closed) explain("close_device", closed.error());
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init_attr) noexcept {
  constexpr std::uint32_t kRequired = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  if (owner.nic().config().personality->xrc == nic::Offer::kNo) return fail(EOPNOTSUPP);
  if (init_attr->comp_mask != kRequired) return fail(EINVAL);
  std::optional<XrcDomains::File> file;
  if (init_attr->fd != -1) {
    struct stat status {};
    if (fstat(init_attr->fd, &status) != 0) return fail(errno);
    file = {.device = status.st_dev, .inode = status.st_ino};
  }
  return or_out_of_memory([&]() -> ibv_xrcd* {
    auto opened = std::make_unique<Xrcd>(*context);
    const auto domain = owner.owner().xrc_domains().open(owner.nic(), file, init_attr->oflags);
    if (!domain) return fail(explain("open_xrcd", domain.error()));
    opened->inner = domain.value();
    objects().add(opened.get());
    return opened.release();
  });
}

int close_xrcd(ibv_xrcd* xrcd) noexcept {
  ObjectClaim claim(xrcd);
  if (claim.error() != 0) return refuse(claim.error());
  Xrcd& own_xrcd = Xrcd::of(xrcd);
  Context& owner = Context::of(xrcd->context);
  if (is_used(own_xrcd)) return refuse_busy("close_xrcd", *xrcd);
  if (const auto closed = owner.owner().xrc_domains().close(owner.nic(), *own_xrcd.inner); !closed) {
    return refuse(explain("close_xrcd", closed.error()));
  }
  claim.take_out();
  own_xrcd.inner = nullptr;
  delete &own_xrcd;
  return 0;
}

}  // namespace urnic::verbs_api
