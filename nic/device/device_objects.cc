// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The smaller objects of a device: shared receive queues, indirection tables, XRC domains, address handles,
// groups, flow rules, windows.
#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <new>

#include "nic/device/device.h"
#include "nic/engine/engine.h"
#include "nic/engine/farewell.h"
#include "nic/errors.h"
#include "nic/personality/room.h"

namespace urnic::nic {

using transport::AddressHandleId;

// --- Shared receive queues ---

Result<std::unique_ptr<SharedReceiveQueue>, Error> Device::create_srq(const SrqCreateAttributes& attributes) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  if (attributes.pd == nullptr) return failure(invalid("a shared receive queue needs a protection domain"));
  const auto sizes = granted_shared_sizes(
      *config_.personality, {.receives = attributes.max_wr, .receive_sges = attributes.max_sge});
  if (!sizes) return failure(sizes.error());
  if ((attributes.xrc_domain == nullptr) != (attributes.completions == nullptr)) {
    return failure(
        invalid("a shared receive queue for XRC needs a domain and a completion queue, others neither"));
  }
  if (srq_count_.fetch_add(1) >= config_.personality->max_srq) {
    srq_count_.fetch_sub(1);
    return failure(out_of("there are too many shared receive queues"));
  }
  std::uint32_t number = 0;
  {
    const std::lock_guard guard(*engine_);
    number = srq_numbers_.take();
  }
  SrqCreateAttributes made = attributes;
  made.max_wr = sizes.value().receives;
  made.max_sge = sizes.value().receive_sges;
  std::unique_ptr<SharedReceiveQueue> srq;
  try {
    srq = std::make_unique<SharedReceiveQueue>(*engine_, number, made);
  } catch (const std::bad_alloc&) {
    const std::lock_guard guard(*engine_);
    srq_numbers_.give_back(number);
    srq_count_.fetch_sub(1);
    return failure(out_of("there is no memory for the shared receive queue"));
  }
  attributes.pd->users.fetch_add(1);
  if (attributes.xrc_domain == nullptr) return srq;
  attributes.completions->users.fetch_add(1);
  attributes.xrc_domain->users.fetch_add(1);
  const std::lock_guard guard(*engine_);
  attributes.xrc_domain->add(*srq);
  return srq;
}

Result<void, Error> Device::destroy_srq(std::unique_ptr<SharedReceiveQueue>& srq) {
  if (auto usable = check_usable(); !usable) return usable;
  if (srq->users.load() > 0) return failure(busy("queue pairs still use the shared receive queue"));
  const SrqCreateAttributes attributes = srq->attributes();
  {
    const std::lock_guard guard(*engine_);
    srq_numbers_.give_back(srq->number());
    if (attributes.xrc_domain != nullptr) {
      attributes.xrc_domain->remove(*srq);
      // XRC targets are not counted as its users: a message that one of them receives into it ends here.
      const transport::ReceiveQueue& queue = *srq->receive_end(nullptr).queue;
      engine_->tables().queue_pairs.for_each([&](QueuePair& qp) { qp.endpoint().forget_receiver(queue); });
    }
  }
  srq.reset();
  srq_count_.fetch_sub(1);
  attributes.pd->users.fetch_sub(1);
  if (attributes.xrc_domain == nullptr) return success();
  attributes.completions->users.fetch_sub(1);
  attributes.xrc_domain->users.fetch_sub(1);
  return success();
}

// --- Indirection tables ---

Result<std::unique_ptr<IndirectionTable>, Error> Device::create_indirection_table(
    std::span<QueuePair* const> queues) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  if (!std::has_single_bit(queues.size()) || queues.size() > DeviceLimits::kMaxIndirectionTableSize) {
    return failure(
        invalid("the size of an indirection table is a power of two, and not more than the device allows"));
  }
  const auto is_work_queue = [](const QueuePair* queue) {
    return queue->attributes().type == QpType::kWorkQueue;
  };
  if (!std::all_of(queues.begin(), queues.end(), is_work_queue)) {
    return failure(invalid("an indirection table is of work queues"));
  }
  if (table_count_.fetch_add(1) >= DeviceLimits::kMaxIndirectionTables) {
    table_count_.fetch_sub(1);
    return failure(out_of("there are too many indirection tables"));
  }
  std::unique_ptr<IndirectionTable> table;
  try {
    table = std::make_unique<IndirectionTable>(std::vector(queues.begin(), queues.end()));
  } catch (const std::bad_alloc&) {
    table_count_.fetch_sub(1);
    return failure(out_of("there is no memory for the indirection table"));
  }
  for (QueuePair* const queue : queues) queue->users.fetch_add(1);
  return table;
}

Result<void, Error> Device::destroy_indirection_table(std::unique_ptr<IndirectionTable>& table) {
  if (auto usable = check_usable(); !usable) return usable;
  if (table->users.load() > 0) return failure(busy("queue pairs still use the indirection table"));
  for (QueuePair* const queue : table->queues()) queue->users.fetch_sub(1);
  table.reset();
  table_count_.fetch_sub(1);
  return success();
}

// --- XRC domains ---

Result<std::unique_ptr<XrcDomain>, Error> Device::open_xrc_domain() {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  return std::make_unique<XrcDomain>();
}

Result<void, Error> Device::close_xrc_domain(std::unique_ptr<XrcDomain>& domain) {
  if (auto usable = check_usable(); !usable) return usable;
  if (domain->users.load() > 0) {
    return failure(busy("queue pairs or shared receive queues are in the XRC domain"));
  }
  domain.reset();
  return success();
}

// --- Datagrams ---

Result<AddressHandleId, Error> Device::create_address_handle(ProtectionDomain& pd,
                                                             const AddressVector& address) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  const std::lock_guard guard(*engine_);
  if (auto checked = check_address(address); !checked) return failure(checked.error());
  // Which queue pairs send there is not known yet: only the flow label can choose the UDP source port now.
  const Path path =
      Path::make(address, *gids_.entry_at(address.source_gid_index), config_.link_source(), {}, {});
  const bool is_on_this_host = config_.medium == Medium::kIp && gids_.contains(address.destination);
  const auto handle = engine_->tables().address_handles.add(address, path, is_on_this_host);
  if (!handle) return failure(out_of("there are too many address handles"));
  pd.users.fetch_add(1);
  return *handle;
}

Result<void, Error> Device::destroy_address_handle(ProtectionDomain& pd, AddressHandleId handle) {
  if (auto usable = check_usable(); !usable) return usable;
  if (engine_->is_started()) send_last_requests(*engine_, handle);
  const std::lock_guard guard(*engine_);
  if (engine_->tables().address_handles.find(handle) == nullptr) {
    return failure(invalid("there is no such address handle"));
  }
  engine_->tables().address_handles.remove(handle);
  pd.users.fetch_sub(1);
  return success();
}

Result<void, Error> Device::attach_multicast(QueuePair& qp, const transport::wire::Gid& group) {
  if (auto usable = check_usable(); !usable) return usable;
  if (qp.attributes().type != QpType::kUd) {
    return failure(invalid("only datagram queue pairs join multicast groups"));
  }
  if (!is_multicast(group)) return failure(invalid("the GID names no multicast group"));
  const std::lock_guard guard(*engine_);
  std::uint64_t others = 0;
  bool is_member = false;
  engine_->tables().groups.for_each(group, [&](const QueuePair& member) {
    is_member = is_member || &member == &qp;
    ++others;
  });
  const bool has_place = is_member || others < config_.personality->max_mcast_qp_attach;
  if (!has_place || !engine_->tables().groups.has_room_for(group)) {
    return failure(out_of("the multicast groups have too many members"));
  }
  return engine_->tables().groups.attach(group, qp, clock_.now());
}

Result<void, Error> Device::detach_multicast(QueuePair& qp, const transport::wire::Gid& group) {
  if (auto usable = check_usable(); !usable) return usable;
  const std::lock_guard guard(*engine_);
  if (!engine_->tables().groups.detach(group, qp, clock_.now())) {
    return failure(invalid("the queue pair is not a member of the group"));
  }
  return success();
}

// --- Flow rules ---

Result<FlowId, Error> Device::create_flow(const QueuePair& qp, const FlowRule& rule) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  if (qp.attributes().type == QpType::kUd) {
    return failure(not_offered("flow rules for datagram queue pairs are not offered"));
  }
  if (qp.attributes().type != QpType::kRawPacket && qp.attributes().type != QpType::kRss) {
    return failure(invalid("flow rules are for queue pairs of raw packets"));
  }
  const std::lock_guard guard(*engine_);
  if (engine_->tables().flows.size() >= DeviceLimits::kMaxFlows) {
    return failure(out_of("there are too many flow rules"));
  }
  return engine_->tables().flows.add(rule, qp.number());
}

Result<void, Error> Device::destroy_flow(FlowId flow) {
  if (auto usable = check_usable(); !usable) return usable;
  const std::lock_guard guard(*engine_);
  if (!engine_->tables().flows.remove(flow)) return failure(invalid("there is no such flow rule"));
  return success();
}

// --- Memory windows ---

Result<std::uint32_t, Error> Device::allocate_window(ProtectionDomain& pd, WindowType type) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  const std::lock_guard guard(*engine_);
  auto key = engine_->tables().memory.add_window(type, pd.id);
  if (!key) return key;
  pd.users.fetch_add(1);
  return to_integer(engine_->tables().memory.rkey_of(key.value()));
}

Result<void, Error> Device::deallocate_window(ProtectionDomain& pd, std::uint32_t key) {
  if (auto usable = check_usable(); !usable) return usable;
  const std::lock_guard guard(*engine_);
  settle_placements();
  MemoryTable& memory = engine_->tables().memory;
  if (auto removed = memory.remove_window(memory.key_of(transport::Rkey{key})); !removed) return removed;
  pd.users.fetch_sub(1);
  return success();
}

}  // namespace urnic::nic
