// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/rwq_ind_table.h"

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/queues/wq.h"

namespace urnic::verbs_api {

RwqIndTable::RwqIndTable(ibv_context& opened, std::unique_ptr<nic::IndirectionTable> made)
    : ibv_rwq_ind_table{}, inner(std::move(made)) {
  context = &opened;
}

RwqIndTable::~RwqIndTable() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
}

void RwqIndTable::end() {
  const auto destroyed = Context::of(context).nic().destroy_indirection_table(inner);
  if (!destroyed) explain("close_device", destroyed.error());
}

namespace {

/// The device's queues that belong to `listed`, or why one of them cannot be used in `context`.
Result<std::vector<nic::QueuePair*>, int> to_queues(const ibv_context& context, ibv_wq* const* listed,
                                                    std::size_t count) {
  std::vector<nic::QueuePair*> queues;
  queues.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const int fault = objects().check_of(context, listed[i]); fault != 0) return fault;
    queues.push_back(Wq::of(listed[i]).inner.get());
  }
  return queues;
}

}  // namespace

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context,
                                        ibv_rwq_ind_table_init_attr* init_attr) noexcept {
  Context& owner = Context::of(context);
  if (owner.is_dead()) return fail(owner.dead_error());
  if (init_attr == nullptr || init_attr->ind_tbl == nullptr || init_attr->comp_mask != 0 ||
      init_attr->log_ind_tbl_size >= 32 ||
      std::uint32_t{1} << init_attr->log_ind_tbl_size > nic::DeviceLimits::kMaxIndirectionTableSize) {
    return fail(EINVAL);
  }
  return or_out_of_memory([&]() -> ibv_rwq_ind_table* {
    // No work queue is destroyed meanwhile.
    const std::lock_guard lock(owner.mutex());
    const auto queues =
        to_queues(*context, init_attr->ind_tbl, std::size_t{1} << init_attr->log_ind_tbl_size);
    if (!queues) return fail(queues.error());
    auto inner = owner.nic().create_indirection_table(queues.value());
    if (!inner) return fail(explain("create_rwq_ind_table", inner.error()));
    auto created = std::make_unique<RwqIndTable>(*context, std::move(inner).value());
    created->ind_tbl_num = created->ind_tbl_handle = owner.next_table_number++;
    objects().add(created.get());
    return created.release();
  });
}

int destroy_rwq_ind_table(ibv_rwq_ind_table* table) noexcept {
  ObjectClaim claim(table);
  if (claim.error() != 0) return refuse(claim.error());
  RwqIndTable& own_table = RwqIndTable::of(table);
  Context& owner = Context::of(table->context);
  {
    const std::lock_guard lock(owner.mutex());
    if (const auto destroyed = owner.nic().destroy_indirection_table(own_table.inner); !destroyed) {
      return refuse(explain("destroy_rwq_ind_table", destroyed.error()));
    }
    claim.take_out();
  }
  delete &own_table;
  return 0;
}

}  // namespace urnic::verbs_api
