// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Actions with what has several handles: XRC targets that are opened again, and imported objects.
#include <fcntl.h>

#include <array>

#include "tests/stress/actions.h"
#include "tests/stress/unwatched.h"

namespace urnic::stress {
namespace {

void open_domain(Objects& objects, Chance& chance) {
  if (objects.xrcds.is_full()) return;
  ibv_xrcd_init_attr wanted{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                            .fd = chance.one_in(4) ? -1 : objects.xrc_file,
                            .oflags = O_CREAT};
  objects.xrcds.add(ibv_open_xrcd(objects.context, &wanted));
}

void make_target(Objects& objects, Chance& chance) {
  if (objects.targets.is_full()) return;
  const auto domain = objects.xrcds.borrow(chance);
  if (!domain) return;
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_RECV;
  wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  wanted.xrcd = domain.get();
  objects.targets.add(ibv_create_qp_ex(objects.context, &wanted));
}

void open_target(Objects& objects, Chance& chance) {
  if (objects.targets.is_full()) return;
  const auto target = objects.targets.borrow(chance);
  const auto domain = objects.xrcds.borrow(chance);
  if (!target || !domain) return;
  ibv_qp_open_attr wanted{};
  wanted.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  wanted.qp_num = target->qp_num;
  wanted.xrcd = domain.get();
  wanted.qp_type = IBV_QPT_XRC_RECV;
  objects.targets.add(ibv_open_qp(objects.context, &wanted));
}

void change_target(Objects& objects, Chance& chance) {
  const auto target = objects.targets.borrow(chance);
  if (!target) return;
  ibv_qp_attr attributes{};
  attributes.port_num = 1;
  attributes.qp_state = chance.pick({IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPS_ERR});
  const int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  ibv_modify_qp(target.get(), &attributes, IBV_QP_STATE | (attributes.qp_state == IBV_QPS_INIT ? init : 0));
  ibv_qp_attr asked{};
  ibv_qp_init_attr created{};
  ibv_query_qp(target.get(), &asked, IBV_QP_STATE, &created);
}

void end_target(Objects& objects, Chance& chance) {
  if (chance.one_in(4)) {
    objects.xrcds.destroy_one(chance, [](ibv_xrcd* domain) { return ibv_close_xrcd(domain); });
  } else {
    objects.targets.destroy_one(chance, ibv_destroy_qp);
  }
}

void import(Objects& objects, Chance& chance) {
  switch (chance.below(3)) {
    case 0: {
      const auto pd = objects.pds.borrow(chance);
      const std::uint32_t handle = pd ? pd->handle : static_cast<std::uint32_t>(chance.number());
      if (!objects.imported_pds.is_full()) objects.imported_pds.add(ibv_import_pd(objects.imported, handle));
      return;
    }
    case 1: {
      const auto mr = objects.mrs.borrow(chance);
      const auto pd = objects.imported_pds.borrow(chance);
      if (mr && pd && !objects.imported_mrs.is_full()) {
        objects.imported_mrs.add(ibv_import_mr(pd.get(), mr->handle));
      }
      return;
    }
    default: {
      const auto dm = objects.dms.borrow(chance);
      if (dm && !objects.imported_dms.is_full()) {
        objects.imported_dms.add(ibv_import_dm(objects.imported, dm->handle));
      }
    }
  }
}

void give_up_import(Objects& objects, Chance& chance) {
  switch (chance.below(3)) {
    case 0:
      return objects.imported_pds.destroy_one(chance, [](ibv_pd* pd) {
        ibv_unimport_pd(pd);
        return 0;
      });
    case 1:
      return objects.imported_mrs.destroy_one(chance, [](ibv_mr* mr) {
        ibv_unimport_mr(mr);
        return 0;
      });
    default:
      return objects.imported_dms.destroy_one(chance, [](ibv_dm* dm) {
        ibv_unimport_dm(dm);
        return 0;
      });
  }
}

// Of the parent's or an import of it, while work requests of others may reach the same bytes.
void copy_device_memory(Objects& objects, Chance& chance) {
  const auto dm = chance.one_in(2) ? objects.dms.borrow(chance) : objects.imported_dms.borrow(chance);
  if (!dm) return;
  std::array<std::uint64_t, 8> words{};
  const auto offset = chance.mostly<std::uint64_t>({0, 8, 56});
  const auto length = chance.pick<std::size_t>({0, 4, 8, sizeof words});
  const Unwatched copy;
  if (chance.one_in(2)) {
    ibv_memcpy_from_dm(words.data(), dm.get(), offset, length);
  } else {
    ibv_memcpy_to_dm(dm.get(), offset, words.data(), length);
  }
}

void use_import(Objects& objects, Chance& chance) {
  if (const auto pd = objects.imported_pds.borrow(chance)) {
    ibv_mr* const mr = ibv_reg_mr(pd.get(), objects.memory.data(), 64, IBV_ACCESS_LOCAL_WRITE);
    if (mr != nullptr) ibv_dereg_mr(mr);
  }
}

constexpr Action kSharingActions[] = {
    {"open xrc domain", 2, open_domain},
    {"make xrc target", 2, make_target},
    {"open xrc target", 4, open_target},
    {"change xrc target", 3, change_target},
    {"end xrc target", 4, end_target},
    {"import", 6, import},
    {"give up import", 5, give_up_import},
    {"use import", 3, use_import},
    {"copy device memory", 3, copy_device_memory},
};

}  // namespace

std::span<const Action> sharing_actions() {
  return kSharingActions;
}

}  // namespace urnic::stress
