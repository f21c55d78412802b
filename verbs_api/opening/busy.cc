// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/busy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/memory/pd.h"
#include "verbs_api/opening/registered.h"
#include "verbs_api/queues/cq.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/srq.h"

namespace urnic::verbs_api {
namespace {

/// What people call an object, and how they tell it from others; no name for what has neither number nor key.
struct UserName {
  const char* one;
  const char* many;
  std::string name{};
};

UserName user_name_of(const ibv_qp& qp) {
  return {"queue pair", "queue pairs", fmt::format("{:#08x}", qp.qp_num)};
}
UserName user_name_of(const ibv_mr& region) {
  return {"memory region", "memory regions", fmt::format("lkey {:#010x}", region.lkey)};
}
UserName user_name_of(const ibv_mw& window) {
  // A thread that binds it may write the key at the same time.
  const std::uint32_t rkey =
      std::atomic_ref(const_cast<std::uint32_t&>(window.rkey)).load(std::memory_order_relaxed);
  return {"memory window", "memory windows", fmt::format("rkey {:#010x}", rkey)};
}
UserName user_name_of(const ibv_ah&) {
  return {"address handle", "address handles"};
}
UserName user_name_of(const ibv_srq& srq) {
  return {"shared receive queue", "shared receive queues", fmt::format("number {}", srq.handle)};
}
UserName user_name_of(const ibv_cq& cq) {
  return {"completion queue", "completion queues", fmt::format("number {}", cq.handle)};
}
UserName user_name_of(const ibv_wq& wq) {
  return {"work queue", "work queues", fmt::format("{:#08x}", wq.wq_num)};
}
UserName user_name_of(const ibv_pd&) {
  return {"parent domain", "parent domains"};
}

/// Users by kind, in the order of the kinds' first ones.
class Users {
 public:
  void add(UserName user) {
    auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                             [&](const Kind& known) { return known.one == std::string_view(user.one); });
    if (kind == kinds_.end()) kind = kinds_.insert(kind, Kind{.one = user.one, .many = user.many});
    ++kind->count;
    if (!user.name.empty()) kind->names.push_back(std::move(user.name));
  }

  /// "2 queue pairs (0x00abcd, 0x00abce) and 1 memory region (lkey 0x00000101)".
  std::string text() {
    std::sort(kinds_.begin(), kinds_.end(),
              [](const Kind& a, const Kind& b) { return std::string_view(a.one) < b.one; });
    std::vector<std::string> parts;
    for (Kind& kind : kinds_) parts.push_back(text_of(kind));
    return parts.empty() ? "an object of another context or process"
                         : fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  static constexpr std::size_t kNamed = 4;
  struct Kind {
    const char* one;
    const char* many;
    std::size_t count = 0;
    std::vector<std::string> names{};
  };

  static std::string text_of(Kind& kind) {
    std::string text = fmt::format("{} {}", kind.count, kind.count == 1 ? kind.one : kind.many);
    if (kind.names.empty()) return text;
    std::sort(kind.names.begin(), kind.names.end());
    const std::size_t others = kind.names.size() - std::min(kind.names.size(), kNamed);
    kind.names.resize(kind.names.size() - others);
    return fmt::format("{} ({}{})", text, fmt::join(kind.names, ", "),
                       others > 0 ? fmt::format(" and {} more", others) : "");
  }

  std::vector<Kind> kinds_;
};

/// Adds those objects of one kind, of `context`'s device, of which `uses` is true.
template <typename Abi, typename Uses>
void add_users(const ibv_context& context, Users& users, Uses uses) {
  objects().for_each(*context.device, [&](ObjectKind kind, const void* object, std::uint32_t) {
    if (kind != kind_of(static_cast<const Abi*>(nullptr))) return;
    const Abi& candidate = *as<Abi>(object);
    if (uses(candidate)) users.add(user_name_of(candidate));
  });
}

/// All listed handles of one domain: its own, imported ones, parent domains. What an object has as `pd` may
/// be gone, as a handle may be unimported before the objects that were made with it are destroyed.
std::vector<const ibv_pd*> handles_of(const ibv_context& context, const nic::ProtectionDomain& domain) {
  std::vector<const ibv_pd*> handles;
  objects().for_each(*context.device, [&](ObjectKind kind, const void* object, std::uint32_t) {
    if (kind != kind_of(static_cast<const ibv_pd*>(nullptr))) return;
    ibv_pd* const handle = as<ibv_pd>(object);
    if (Pd::of(handle).inner.get() == &domain) handles.push_back(handle);
  });
  return handles;
}

bool tells_of_errors() {
  return ProcessDevices::instance().tells_of_errors();
}

int refuse_for(std::string_view verb, const char* what, Users& users) {
  return refuse(explain(
      verb, {.code = EBUSY,
             .message =
                 fmt::format("the {} is still used by {}: destroy what uses it first", what, users.text())}));
}

}  // namespace

int refuse_busy(std::string_view verb, const ibv_pd& pd) {
  if (!tells_of_errors()) return refuse(EBUSY);
  const nic::ProtectionDomain* const inner = Pd::of(const_cast<ibv_pd*>(&pd)).inner.get();
  // The verb has claimed the handle that it is to destroy, so that it is in no list.
  std::vector<const ibv_pd*> handles = handles_of(*pd.context, *inner);
  handles.push_back(&pd);
  const auto is_in_it = [&handles](const auto& object) {
    return std::find(handles.begin(), handles.end(), object.pd) != handles.end();
  };
  Users users;
  // The protection domain of an XRC target is not used.
  add_users<ibv_qp>(*pd.context, users,
                    [&](const ibv_qp& qp) { return qp.qp_type != IBV_QPT_XRC_RECV && is_in_it(qp); });
  add_users<ibv_mr>(*pd.context, users, is_in_it);
  add_users<ibv_mw>(*pd.context, users, is_in_it);
  add_users<ibv_ah>(*pd.context, users, is_in_it);
  add_users<ibv_srq>(*pd.context, users, is_in_it);
  add_users<ibv_wq>(*pd.context, users, is_in_it);
  add_users<ibv_pd>(*pd.context, users, [inner](const ibv_pd& other) {
    return Pd::of(const_cast<ibv_pd*>(&other)).parent.get() == inner;
  });
  return refuse_for(verb, "protection domain", users);
}

int refuse_busy(std::string_view verb, const ibv_td& td) {
  if (!tells_of_errors()) return refuse(EBUSY);
  Users users;
  add_users<ibv_pd>(*td.context, users,
                    [&td](const ibv_pd& pd) { return Pd::of(const_cast<ibv_pd*>(&pd)).td == &td; });
  return refuse_for(verb, "thread domain", users);
}

int refuse_busy(std::string_view verb, const ibv_comp_channel& channel) {
  if (!tells_of_errors()) return refuse(EBUSY);
  Users users;
  add_users<ibv_cq>(*channel.context, users, [&channel](const ibv_cq& cq) { return cq.channel == &channel; });
  return refuse_for(verb, "completion channel", users);
}

int refuse_busy(std::string_view verb, const ibv_cq& cq) {
  if (!tells_of_errors()) return refuse(EBUSY);
  Users users;
  add_users<ibv_qp>(*cq.context, users,
                    [&cq](const ibv_qp& qp) { return qp.send_cq == &cq || qp.recv_cq == &cq; });
  add_users<ibv_wq>(*cq.context, users, [&cq](const ibv_wq& wq) { return wq.cq == &cq; });
  const nic::CompletionQueue* const inner = Cq::of(const_cast<ibv_cq*>(&cq)).inner.get();
  add_users<ibv_srq>(*cq.context, users, [inner](const ibv_srq& srq) {
    return Srq::of(const_cast<ibv_srq*>(&srq)).inner->attributes().completions == inner;
  });
  return refuse_for(verb, "completion queue", users);
}

int refuse_busy(std::string_view verb, const ibv_srq& srq) {
  if (!tells_of_errors()) return refuse(EBUSY);
  Users users;
  add_users<ibv_qp>(*srq.context, users, [&srq](const ibv_qp& qp) { return qp.srq == &srq; });
  return refuse_for(verb, "shared receive queue", users);
}

int refuse_busy(std::string_view verb, const ibv_xrcd& xrcd) {
  if (!tells_of_errors()) return refuse(EBUSY);
  Users users;
  add_users<ibv_qp>(*xrcd.context, users,
                    [&xrcd](const ibv_qp& qp) { return Qp::of(const_cast<ibv_qp*>(&qp)).xrcd == &xrcd; });
  add_users<ibv_srq>(*xrcd.context, users, [&xrcd](const ibv_srq& srq) {
    return Srq::of(const_cast<ibv_srq*>(&srq)).xrcd == &xrcd;
  });
  return refuse_for(verb, "XRC domain", users);
}

}  // namespace urnic::verbs_api
