// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ObjectRegistry: which objects the program has.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

enum class ObjectKind : std::uint8_t {
  kPd,
  kTd,
  kMr,
  kMw,
  kDm,
  kAh,
  kChannel,
  kCq,
  kSrq,
  kXrcd,
  kQp,
  kWq,
  kIndirectionTable,
  kFlow,
  kCounters,
  kBuffer,
};
inline constexpr std::size_t kObjectKinds = static_cast<std::size_t>(ObjectKind::kBuffer) + 1;

constexpr ObjectKind kind_of(const ibv_pd*) {
  return ObjectKind::kPd;
}
constexpr ObjectKind kind_of(const ibv_td*) {
  return ObjectKind::kTd;
}
constexpr ObjectKind kind_of(const ibv_mr*) {
  return ObjectKind::kMr;
}
constexpr ObjectKind kind_of(const ibv_mw*) {
  return ObjectKind::kMw;
}
constexpr ObjectKind kind_of(const ibv_dm*) {
  return ObjectKind::kDm;
}
constexpr ObjectKind kind_of(const ibv_ah*) {
  return ObjectKind::kAh;
}
constexpr ObjectKind kind_of(const ibv_comp_channel*) {
  return ObjectKind::kChannel;
}
constexpr ObjectKind kind_of(const ibv_cq*) {
  return ObjectKind::kCq;
}
constexpr ObjectKind kind_of(const ibv_srq*) {
  return ObjectKind::kSrq;
}
constexpr ObjectKind kind_of(const ibv_xrcd*) {
  return ObjectKind::kXrcd;
}
constexpr ObjectKind kind_of(const ibv_qp*) {
  return ObjectKind::kQp;
}
constexpr ObjectKind kind_of(const ibv_wq*) {
  return ObjectKind::kWq;
}
constexpr ObjectKind kind_of(const ibv_rwq_ind_table*) {
  return ObjectKind::kIndirectionTable;
}
constexpr ObjectKind kind_of(const ibv_flow*) {
  return ObjectKind::kFlow;
}
constexpr ObjectKind kind_of(const ibv_counters*) {
  return ObjectKind::kCounters;
}

/// 0 for kinds of objects that have none.
template <typename Abi>
std::uint32_t handle_of(const Abi& object) {
  if constexpr (requires { object.handle; }) {
    return object.handle;
  } else if constexpr (requires { object.ind_tbl_handle; }) {
    return static_cast<std::uint32_t>(object.ind_tbl_handle);
  } else {
    return 0;
  }
}

/// 0 while verbs may use an object of `kind` that was made in `context`. EIO after the program has closed the
/// context, and in the child of a fork when the parent has opened it; the first time a line on stderr says
/// why. The context knows (device/context.cc).
int find_context_fault(ibv_context& context, ObjectKind kind);

// The sanitizer listens (sanitizer/graveyard.cc).
/// A verb has destroyed the object, or is about to free it.
void note_destroyed(const void* object, ObjectKind kind, std::uint32_t handle);
/// The program gets it.
void note_given(const void* object);
/// The program has named an object that it does not have.
void note_unknown(const void* object);

/// The objects that verbs have given to the program and that it has not destroyed, of all contexts. The
/// program names an object by the address of its struct. The kernel knows it by its context and its handle,
/// which stand in the struct, and refuses a pair that it has not given out; so does this. A struct is not
/// read before its address is found here, as the program may have destroyed it. Control verbs ask here before
/// they use an object, and need not ask its context. Any thread, also in the child of a fork.
class ObjectRegistry {
 public:
  ObjectRegistry() = default;
  ObjectRegistry(const ObjectRegistry&) = delete;
  ObjectRegistry& operator=(const ObjectRegistry&) = delete;

  /// The program gets the object, whose context and handle will not change any more. Throws std::bad_alloc.
  template <typename Abi>
  void add(const Abi* object) {
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(object, Entry{.kind = kind_of(object),
                                            .context = object->context,
                                            .handle = handle_of(*object),
                                            .number = ++given_[static_cast<std::size_t>(kind_of(object))]});
    note_given(object);
  }

  /// 0 when the program has the object; EINVAL for a null pointer; ENOENT for an address, a context or a
  /// handle that was not given out, or is not any more; EBUSY while a verb destroys the object; EIO as
  /// find_context_fault().
  template <typename Abi>
  int check(const Abi* object) const {
    const std::lock_guard lock(mutex_);
    return check_locked(object);
  }

  /// The same, and EINVAL for an object of another context, for what is to be made in `context`: with the
  /// other one it would lose what it uses.
  template <typename Abi>
  int check_of(const ibv_context& context, const Abi* object) const {
    const std::lock_guard lock(mutex_);
    const int fault = check_locked(object);
    return fault == 0 && object->context != &context ? EINVAL : fault;
  }

  /// The objects of `kind` in a context.
  std::vector<const void*> all_of(const ibv_context& context, ObjectKind kind) const;
  bool has_any_of(const ibv_context& context) const;
  /// Whether `predicate` is true of one of them, as a `Handle`, none of which is destroyed meanwhile.
  template <typename Handle, typename Predicate>
  bool has_any_of(const ibv_context& context, ObjectKind kind, Predicate predicate) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [object, entry] : entries_) {
      const bool is_meant = entry.kind == kind && entry.context == &context;
      if (is_meant && predicate(*static_cast<const Handle*>(object))) return true;
    }
    return false;
  }

  /// A context that is open from now on, and its number, until it is closed.
  void add_context(const ibv_context& context) {
    const std::lock_guard lock(mutex_);
    contexts_.insert_or_assign(&context, ++last_context_);
  }
  void remove_context(const ibv_context& context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(&context);
  }
  /// In the child of a fork, with the mutex held: the contexts are the parent's.
  void forget_contexts() { contexts_.clear(); }
  /// The numbers of the open contexts of a device, in the order in which they were opened.
  std::vector<std::uint32_t> open_contexts(const ibv_device& device) const;
  /// Calls `visit` with the kind, the address and the number of the context of each object of the device's
  /// open contexts, none of which a verb destroys meanwhile. Those that a verb is about to destroy are left
  /// out.
  template <typename Visit>
  void for_each(const ibv_device& device, Visit visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [object, entry] : entries_) {
      const auto context = contexts_.find(entry.context);
      const bool is_listed = context != contexts_.end() && context->first->device == &device;
      if (is_listed && !entry.is_claimed) visit(entry.kind, object, context->second);
    }
  }

  /// Whether the program has the object of `kind` that was given to it as the `number`-th one, from 1, and no
  /// verb destroys it. Then calls `use` with it, as a `Handle`; it is not destroyed meanwhile. `use` must not
  /// wait for the device.
  template <typename Handle, typename Use>
  bool use_nth(ObjectKind kind, std::uint32_t number, Use use) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [object, entry] : entries_) {
      if (entry.kind != kind || entry.number != number || entry.is_claimed) continue;
      use(*static_cast<Handle*>(const_cast<void*>(object)));
      return true;
    }
    return false;
  }

  /// Around a fork, so that the child finds it unlocked.
  std::mutex& mutex() { return mutex_; }

 private:
  friend class ObjectClaim;

  struct Entry {
    ObjectKind kind;
    const ibv_context* context;
    std::uint32_t handle;
    std::uint32_t number;  ///< of its kind, in the order in which they were given, from 1
    bool is_claimed = false;
  };

  template <typename Abi>
  int check_locked(const Abi* object) const {
    if (object == nullptr) return EINVAL;
    const auto found = entries_.find(object);
    if (found == entries_.end()) note_unknown(object);
    if (found == entries_.end() || found->second.kind != kind_of(object)) return ENOENT;
    const Entry& given = found->second;
    if (given.context != object->context || given.handle != handle_of(*object)) return ENOENT;
    return given.is_claimed ? EBUSY : find_context_fault(*object->context, given.kind);
  }

  mutable std::mutex mutex_;
  std::unordered_map<const void*, Entry> entries_;
  std::unordered_map<const ibv_context*, std::uint32_t> contexts_;
  std::uint32_t last_context_ = 0;
  std::array<std::uint32_t, kObjectKinds> given_{};  // by kind
};

/// The registry of this process.
ObjectRegistry& objects();

/// The right to destroy an object. While a verb has it, others find the object busy.
class ObjectClaim {
 public:
  template <typename Abi>
  explicit ObjectClaim(const Abi* object) : object_(object) {
    const std::lock_guard lock(objects().mutex_);
    error_ = objects().check_locked(object);
    if (error_ == 0) objects().entries_.at(object).is_claimed = true;
  }
  /// Of one that all_of() has listed.
  ObjectClaim(const void* object, ObjectKind kind);
  /// Gives it back.
  ~ObjectClaim();
  ObjectClaim(const ObjectClaim&) = delete;
  ObjectClaim& operator=(const ObjectClaim&) = delete;

  /// 0, or why there is no such right: as ObjectRegistry::check().
  int error() const { return error_; }
  /// The program does not have the object any more; before its memory is freed.
  void take_out();

 private:
  const void* object_;
  int error_;
};

}  // namespace urnic::verbs_api
