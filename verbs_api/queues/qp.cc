// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/qp.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "nic/errors.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/adversary/garbage.h"
#include "verbs_api/device/acknowledgements.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/mtu.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/fixed_length.h"
#include "verbs_api/queues/qp_attributes.h"
#include "verbs_api/queues/rss_attributes.h"
#include "verbs_api/queues/rwq_ind_table.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/xrcd.h"
#include "verbs_api/sanitizer/checks/attribute_checks.h"
#include "verbs_api/sanitizer/checks/capability_checks.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

Qp::Qp(ibv_context& opened, const ibv_qp_init_attr_ex& init_attr) : QpExWithFlush{}, xrcd(init_attr.xrcd) {
  qp_base.context = &opened;
  qp_base.qp_context = init_attr.qp_context;
  qp_base.pd = init_attr.pd;
  qp_base.send_cq = init_attr.send_cq;
  qp_base.recv_cq = init_attr.recv_cq;
  qp_base.srq = init_attr.srq;
  qp_base.state = IBV_QPS_RESET;
  qp_base.qp_type = init_attr.qp_type;
  pthread_mutex_init(&qp_base.mutex, nullptr);
  pthread_cond_init(&qp_base.cond, nullptr);
}

Qp::~Qp() {
  if (inner != nullptr) {
    end();  // creation was not finished
  }
  pthread_cond_destroy(&qp_base.cond);
  pthread_mutex_destroy(&qp_base.mutex);
}

void Qp::attach(std::shared_ptr<QpHandles> made) {
  handles = std::move(made);
  inner = handles->inner.get();
  qp_base.qp_num = to_integer(inner->number());
  qp_base.handle = qp_base.qp_num;
}

void Qp::end() {
  const bool is_target = inner->attributes().type == nic::QpType::kXrcTarget;
  const bool was_last = is_target
                            ? Context::of(qp_base.context).owner().xrc_targets().close(*handles, qp_base)
                            : handles->remove(qp_base);
  inner = nullptr;
  if (was_last) Context::of(qp_base.context).nic().destroy_qp(std::move(handles->inner));
}

namespace {

/// EOPNOTSUPP for what libibverbs knows and we do not have, EINVAL for unknown numbers.
Result<nic::QpType, Error> to_qp_type(const ibv_qp_type& type) {
  switch (number_in(type)) {
    case IBV_QPT_RC:
      return nic::QpType::kRc;
    case IBV_QPT_UC:
      return nic::QpType::kUc;
    case IBV_QPT_UD:
      return nic::QpType::kUd;
    case IBV_QPT_XRC_SEND:
      return nic::QpType::kXrcInitiator;
    case IBV_QPT_XRC_RECV:
      return nic::QpType::kXrcTarget;
    case IBV_QPT_RAW_PACKET:
      return nic::QpType::kRawPacket;
    case IBV_QPT_DRIVER:
      return nic::not_offered("IBV_QPT_DRIVER is for the queue pairs of a vendor, and this device has none");
    default:
      return nic::invalid(fmt::format(
          "qp_type {} is none of IBV_QPT_RC, UC, UD, XRC_SEND, XRC_RECV, RAW_PACKET", number_in(type)));
  }
}

/// Whether the NIC has such queue pairs that the device is like.
bool is_offered(const nic::Personality& like, nic::QpType type) {
  switch (type) {
    case nic::QpType::kUc:
      return like.unreliable_connections == nic::Offer::kYes;
    case nic::QpType::kXrcInitiator:
    case nic::QpType::kXrcTarget:
      return like.xrc == nic::Offer::kYes;
    default:
      return true;
  }
}

/// Takes away what a queue pair of this type does not use. The kernel, too, does not look at it. The
/// protection domain of an XRC target stays to be seen in its ibv_qp: librdmacm takes it from there.
void normalize(nic::QpType type, ibv_qp_init_attr_ex& init_attr) {
  if (type == nic::QpType::kXrcTarget) {
    init_attr.send_cq = nullptr;
    init_attr.cap = {};
  } else {
    init_attr.xrcd = nullptr;
  }
  if (!nic::has_receive_queue(type)) {
    init_attr.recv_cq = nullptr;
    init_attr.srq = nullptr;
  }
  if (!nic::has_receive_queue(type) || init_attr.srq != nullptr) {
    init_attr.cap.max_recv_wr = 0;
    init_attr.cap.max_recv_sge = 0;
  }
}

/// Inline data fit where the elements of a request would stand, and programs rely on that without asking for
/// it: rdma_xclient does. So rdma_rxe and mlx5 grant it (rxe_qp.c: the larger of both).
std::uint32_t granted_inline_bytes(const nic::QpCapabilities& wanted) {
  return wanted.max_send_sge * static_cast<std::uint32_t>(sizeof(ibv_sge));
}

/// 0, or why what it is to be made with cannot be used in that context. Nulls can.
int check_used(const ibv_context& context, const ibv_qp_init_attr_ex& init_attr) {
  int fault = 0;
  const auto check = [&](const auto* used) {
    if (fault == 0 && used != nullptr) fault = objects().check_of(context, used);
  };
  check(init_attr.pd);
  check(init_attr.send_cq);
  check(init_attr.recv_cq);
  check(init_attr.srq);
  check(init_attr.xrcd);
  check(init_attr.rwq_ind_tbl);
  return fault;
}

nic::QpCreateAttributes to_create_attributes(nic::QpType type, const ibv_qp_init_attr_ex& init_attr) {
  const bool uses_pd = init_attr.pd != nullptr && type != nic::QpType::kXrcTarget;
  return {
      .type = type,
      .capabilities = to_capabilities(init_attr.cap),
      .pd = uses_pd ? Pd::of(init_attr.pd).inner.get() : nullptr,
      .send_queue = init_attr.send_cq != nullptr ? Cq::of(init_attr.send_cq).inner.get() : nullptr,
      .receive_queue = init_attr.recv_cq != nullptr ? Cq::of(init_attr.recv_cq).inner.get() : nullptr,
      .srq = init_attr.srq != nullptr ? Srq::of(init_attr.srq).inner.get() : nullptr,
      .xrc_domain = init_attr.xrcd != nullptr ? Xrcd::of(init_attr.xrcd).inner : nullptr,
      .rss = {.table = init_attr.rwq_ind_tbl != nullptr ? RwqIndTable::of(init_attr.rwq_ind_tbl).inner.get()
                                                        : nullptr},
      .all_signaled = init_attr.sq_sig_all != 0,
      .hears_itself = (init_attr.create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) == 0};
}

/// Where failures are explained.
void count_posts(Qp& qp, const ibv_qp_init_attr_ex& wanted) {
  Accounts* const accounts = Context::of(qp.qp_base.context).owner().accounts();
  if (accounts == nullptr) return;
  const auto& made = qp.inner->attributes();
  qp.account = std::make_shared<QpAccount>(
      QpAccount::Facts{.name = fmt::format("QP {:#x}", qp.qp_base.qp_num),
                       .sends = {wanted.cap.max_send_wr, made.capabilities.max_send_wr},
                       .receives = {wanted.cap.max_recv_wr, made.capabilities.max_receive_wr},
                       .is_all_signaled = made.all_signaled,
                       .send_cq = wanted.send_cq != nullptr ? Cq::of(wanted.send_cq).account : nullptr},
      sanitizer());
  qp.inner->use(*qp.account);
  accounts->add(qp.qp_base.qp_num, qp.account);
}

/// For the sanitizer, if it looks: by what the program has requested of it.
void watch_posts(Qp& qp, const ibv_qp_init_attr_ex& wanted) {
  DeviceLedger* const ledgers = Context::of(qp.qp_base.context).ledgers();
  if (ledgers == nullptr) return count_posts(qp, wanted);
  const auto& made = qp.inner->attributes();
  qp.ledger = std::make_shared<QpLedger>(
      QpFacts{.name = fmt::format("QP {:#x}", qp.qp_base.qp_num),
              .domain = made.pd,
              .sends = {wanted.cap.max_send_wr, made.capabilities.max_send_wr},
              .receives = {wanted.cap.max_recv_wr, made.capabilities.max_receive_wr},
              .is_all_signaled = made.all_signaled,
              .has_datagrams = made.type == nic::QpType::kUd,
              .send_cq = wanted.send_cq != nullptr ? Cq::of(wanted.send_cq).ledger : nullptr,
              .has_one_thread = wanted.pd != nullptr && Pd::of(wanted.pd).td != nullptr,
              .sizes = {.send_elements = wanted.cap.max_send_sge,
                        .receive_elements = wanted.cap.max_recv_sge,
                        .inline_bytes = wanted.cap.max_inline_data},
              .order = ledgers->order()},
      ledgers->memory(), sanitizer());
  qp.inner->use(*qp.ledger);
  ledgers->add(qp.inner->number(), qp.ledger);
  check_capabilities(sanitizer(), qp.ledger->name(), wanted.cap);
}

/// For the sanitizer: the program is about to change it.
void check_change(const Qp& qp, const ibv_qp_attr& attr, int mask) {
  if (qp.ledger == nullptr) return;
  const nic::Device& nic = Context::of(qp.qp_base.context).nic();
  check_attributes(
      sanitizer(), qp.ledger->name(), attr, mask,
      {.active_mtu = to_ibv_mtu(nic.usual_path_mtu()), .source = nic.gids().at(attr.ah_attr.grh.sgid_index)});
}

/// Keeps the shared receive queue of a queue pair that ends. Another thread may destroy that queue as soon as
/// no queue pair uses it.
class SharedQueueUse {
 public:
  explicit SharedQueueUse(const ibv_qp& qp)
      : queue_(qp.srq != nullptr ? Srq::of(qp.srq).inner.get() : nullptr) {
    if (queue_ != nullptr) queue_->users.fetch_add(1);
  }
  ~SharedQueueUse() {
    if (queue_ != nullptr) queue_->users.fetch_sub(1);
  }
  SharedQueueUse(const SharedQueueUse&) = delete;
  SharedQueueUse& operator=(const SharedQueueUse&) = delete;

 private:
  nic::SharedReceiveQueue* queue_;
};

/// For the sanitizer. Completions of a queue pair that were not polled are gone with it, or with its change
/// to RESET. The receives of these are free again, and those that a message of XRC had begun to fill.
void recount_shared(const Qp& qp) {
  DeviceLedger* const ledgers = Context::of(qp.qp_base.context).ledgers();
  if (ledgers != nullptr && qp.qp_base.qp_type == IBV_QPT_XRC_RECV) ledgers->srqs().recount();
  if (qp.qp_base.srq == nullptr) return;
  const Srq& srq = Srq::of(qp.qp_base.srq);
  if (srq.ledger != nullptr) srq.ledger->limit(srq.inner->waiting());
}

/// For the sanitizer: the program has changed it.
void note_change(const Qp& qp, const ibv_qp_attr& attr, int mask) {
  const bool is_reset = (mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RESET;
  if (qp.account != nullptr && is_reset) qp.account->reset();
  if (qp.ledger == nullptr) return;
  qp.ledger->noticed();
  ReadDepth depth;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) depth.as_requester = attr.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) depth.as_responder = attr.max_dest_rd_atomic;
  qp.ledger->set_read_depth(depth);
  if ((mask & IBV_QP_AV) != 0) qp.ledger->set_peer(to_gid(attr.ah_attr.grh.dgid));
  if (is_reset) {
    qp.ledger->reset();
    recount_shared(qp);
  }
  if ((mask & IBV_QP_TIMEOUT) != 0 && attr.timeout == 0) {
    sanitizer().complain(Finding::kNoAckTimeout, qp.ledger->name(),
                         [] { return std::string("ibv_modify_qp() sets timeout to 0"); });
  }
}

/// For the sanitizer: the program is about to end it.
void forget_posts(const Qp& qp) {
  if (qp.account != nullptr) {
    qp.account->check_destroy();
    Context::of(qp.qp_base.context).owner().accounts()->remove(qp.qp_base.qp_num);
  }
  DeviceLedger* const ledgers = Context::of(qp.qp_base.context).ledgers();
  if (qp.ledger == nullptr || ledgers == nullptr) return;
  qp.ledger->check_destroy();
  AsyncEvents& events = Context::of(qp.qp_base.context).async_events();
  if (qp.qp_base.srq != nullptr && events.has_unread(IBV_EVENT_QP_LAST_WQE_REACHED, qp.events_fetched)) {
    sanitizer().complain(Finding::kDestroyedBeforeLastWqe, qp.ledger->name(), [] {
      return std::string(
          "ibv_destroy_qp() is called, and IBV_EVENT_QP_LAST_WQE_REACHED, which has come, is not read");
    });
  }
  ledgers->remove(qp.inner->number());
}

/// `init_attr` as ibv_create_qp_ex has it, with nulls for what is not given; its capabilities become those
/// that were granted. With a `hash` it is for RSS.
ibv_qp* create(ibv_context& context, ibv_qp_init_attr_ex& init_attr,
               const std::optional<nic::RssHash>& hash = std::nullopt) {
  Context& owner = Context::of(&context);
  if (owner.is_dead()) return fail(owner.dead_error());
  const Result<nic::QpType, Error> type = hash ? nic::QpType::kRss : to_qp_type(init_attr.qp_type);
  if (!type) return fail(explain("create_qp", type.error()));
  const nic::Personality& like = *owner.nic().config().personality;
  if (!is_offered(like, type.value())) {
    return fail(
        explain("create_qp", nic::not_offered("the NIC that this device is like has no such queue pairs")));
  }
  const std::uint64_t operations =
      (init_attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 ? init_attr.send_ops_flags : 0;
  if (const auto others = operations & ~offered_send_operations(type.value()); others != 0) {
    return fail(explain(
        "create_qp", nic::not_offered(fmt::format(
                         "send_ops_flags has bits {:#x}, which a queue pair of this type has not", others))));
  }
  normalize(type.value(), init_attr);
  if (const int fault = check_used(context, init_attr); fault != 0) return fail(fault);
  // The port opens here, at the first object that needs packets, and a person wants to know why it does not.
  if (const auto started = owner.nic().start(); !started) return fail(report(started.error()));
  return or_out_of_memory([&]() -> ibv_qp* {
    auto created = std::make_unique<Qp>(context, init_attr);
    nic::QpCreateAttributes attributes = to_create_attributes(type.value(), init_attr);
    auto handles = std::make_shared<QpHandles>();
    handles->add(created->handle());
    attributes.context = handles.get();
    attributes.rss.hash = hash.value_or(nic::RssHash());
    std::uint32_t& inline_room = attributes.capabilities.max_inline_data;
    if (like.granted_room == nic::GrantedRoom::kPowerOfTwo) {
      inline_room = std::max(inline_room, granted_inline_bytes(attributes.capabilities));
    }
    if ((operations & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0) {
      // Its bytes are handed over with the request.
      inline_room = std::max(inline_room, kAtomicBytes);
    }
    auto inner = owner.nic().create_qp(attributes);
    if (!inner) return fail(explain("create_qp", inner.error()));
    handles->inner = std::move(inner).value();
    created->attach(handles);
    if (type.value() == nic::QpType::kXrcTarget) owner.owner().xrc_targets().add(handles);
    watch_posts(*created, init_attr);
    init_attr.cap = to_ibv_cap(created->inner->attributes().capabilities);
    if ((init_attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
      created->builder = std::make_unique<WorkRequestBuilder>(*created->inner, operations);
      fill_builders(*created);
    }
    objects().add(&created->qp_base);
    return &created.release()->qp_base;
  });
}

void wait_for_acknowledgements(Qp& qp) {
  wait_until_acknowledged(
      qp.qp_base.mutex, qp.qp_base.cond, [&] { return qp.qp_base.events_completed == qp.events_fetched; },
      [&] { return fmt::format("QP {:#x}", qp.qp_base.qp_num); });
}

}  // namespace

/// In the field that programs look at, which other threads may be changing by the same verb.
void show_state(ibv_qp& qp, ibv_qp_state state) {
  std::atomic_ref(qp.state).store(state, std::memory_order_relaxed);
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init_attr) noexcept {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                   IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
                                   IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;

  const std::uint32_t mask = init_attr->comp_mask;
  if ((mask & ~kKnown) != 0) {
    return fail(explain("create_qp", nic::not_offered(fmt::format(
                                         "comp_mask has bits {:#x}, which are not known", mask & ~kKnown))));
  }
  ibv_qp_init_attr_ex complete = *init_attr;
  if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) == 0) complete.create_flags = 0;
  // Only datagrams come back by themselves.
  const std::uint32_t offered =
      number_in(init_attr->qp_type) == IBV_QPT_UD ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0;
  if (const std::uint32_t others = complete.create_flags & ~offered; others != 0) {
    return fail(explain(
        "create_qp", nic::not_offered(fmt::format(
                         "create_flags has bits {:#x}, which a queue pair of this type has not", others))));
  }
  if ((mask & IBV_QP_INIT_ATTR_PD) == 0) complete.pd = nullptr;
  if ((mask & IBV_QP_INIT_ATTR_XRCD) == 0) complete.xrcd = nullptr;
  std::optional<nic::RssHash> hash;
  if (is_rss(*init_attr)) {
    const auto named = to_rss_hash(*init_attr);
    if (!named) return fail(explain("create_qp", named.error()));
    hash = named.value();
  } else {
    complete.rwq_ind_tbl = nullptr;
  }
  ibv_qp* const created = create(*context, complete, hash);
  if (created != nullptr) init_attr->cap = complete.cap;
  return created;
}

}  // namespace urnic::verbs_api

namespace nic = urnic::nic;
using urnic::verbs_api::call_faults;
using urnic::verbs_api::CallFault;
using urnic::verbs_api::Context;
using urnic::verbs_api::explain;
using urnic::verbs_api::fail;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::ObjectClaim;
using urnic::verbs_api::objects;
using urnic::verbs_api::Qp;
using urnic::verbs_api::refuse;
using urnic::verbs_api::show_state;
using urnic::verbs_api::Verb;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  if (const int error = injected_error(Verb::kCreateQp); error != 0) return fail(error);
  if (const int fault = objects().check(pd); fault != 0) return urnic::verbs_api::fail(fault);
  // The plain struct is the beginning of the extended one.
  ibv_qp_init_attr_ex init_attr{};
  init_attr.qp_context = qp_init_attr->qp_context;
  init_attr.send_cq = qp_init_attr->send_cq;
  init_attr.recv_cq = qp_init_attr->recv_cq;
  init_attr.srq = qp_init_attr->srq;
  init_attr.cap = qp_init_attr->cap;
  init_attr.qp_type = qp_init_attr->qp_type;
  init_attr.sq_sig_all = qp_init_attr->sq_sig_all;
  init_attr.pd = pd;
  ibv_qp* const created = urnic::verbs_api::create(*pd->context, init_attr);
  if (created != nullptr) qp_init_attr->cap = init_attr.cap;
  return created;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Qp& own_qp = Qp::of(qp);
  return own_qp.builder != nullptr ? &own_qp : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask) {
  const bool has_state = (attr_mask & IBV_QP_STATE) != 0;
  const auto to = has_state ? std::optional(attr->qp_state) : std::nullopt;
  if (const CallFault* const named = call_faults().strike(Verb::kModifyQp, to)) return refuse(named->error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  nic::QueuePair& inner = *Qp::of(qp).inner;
  const int mask = urnic::verbs_api::without_useless(inner.attributes().type, attr_mask);
  urnic::verbs_api::check_change(Qp::of(qp), *attr, mask);
  const auto attributes = urnic::verbs_api::to_qp_attributes(*attr, mask);
  if (!attributes) return refuse(explain("modify_qp", attributes.error()));
  const auto modified = inner.modify(attributes.value());
  if (!modified) return refuse(explain("modify_qp", modified.error()));
  if ((attr_mask & IBV_QP_STATE) != 0) show_state(*qp, attr->qp_state);
  urnic::verbs_api::note_change(Qp::of(qp), *attr, mask);
  return 0;
}

// By its manual page the mask names the least that is returned; devices return all, and programs read more
// than they ask for. libibverbs itself looks at the mask before it writes the state into the queue pair.
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr) {
  if (const int error = injected_error(Verb::kQueryQp); error != 0) return refuse(error);
  if (const int fault = objects().check(qp); fault != 0) return refuse(fault);
  const Qp& own_qp = Qp::of(qp);
  const auto& created = own_qp.inner->attributes();
  if (created.type == nic::QpType::kRss) {
    return refuse(EOPNOTSUPP);  // it has neither a state nor attributes
  }
  if (own_qp.ledger != nullptr) own_qp.ledger->noticed();
  *attr = urnic::verbs_api::to_ibv_attributes(own_qp.inner->query(), created.capabilities);
  if (nic::Adversary* const adversary = Context::of(qp->context).nic().adversary()) {
    urnic::verbs_api::spoil_unrequested(*attr, attr_mask, *adversary, qp->qp_num);
  }
  *init_attr = {};
  init_attr->qp_context = qp->qp_context;
  init_attr->send_cq = qp->send_cq;
  init_attr->recv_cq = qp->recv_cq;
  init_attr->srq = qp->srq;
  init_attr->cap = attr->cap;
  init_attr->qp_type = qp->qp_type;
  init_attr->sq_sig_all = created.all_signaled ? 1 : 0;
  if ((attr_mask & IBV_QP_STATE) != 0) show_state(*qp, attr->qp_state);
  return 0;
}

// Within a packet the processor copies in the order it likes.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  if (const int error = injected_error(Verb::kDestroyQp); error != 0) return refuse(error);
  ObjectClaim claim(qp);
  if (claim.error() != 0) return refuse(claim.error());
  Qp& own_qp = Qp::of(qp);
  Context& owner = Context::of(qp->context);
  if (const auto destroyable = owner.nic().check_destroyable(*own_qp.inner); !destroyable) {
    return refuse(explain("destroy_qp", destroyable.error()));
  }
  urnic::verbs_api::forget_posts(own_qp);
  {
    const urnic::verbs_api::SharedQueueUse use(*qp);
    own_qp.end();
    urnic::verbs_api::recount_shared(own_qp);
  }
  owner.async_events().forget(Qp::of(qp).events_fetched);
  urnic::verbs_api::wait_for_acknowledgements(own_qp);
  claim.take_out();
  own_qp.ledger.reset();
  urnic::verbs_api::sanitizer().end_object(own_qp, *qp);
  return 0;
}

}  // extern "C"
