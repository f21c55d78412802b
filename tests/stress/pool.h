// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pool: objects that several threads use, and any of them may destroy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "tests/stress/chance.h"

namespace urnic::stress {

/// libibverbs, as the kernel, wants a program not to use what it destroys at the same time. A borrowed object
/// is therefore not destroyed, and one that is being destroyed not borrowed; everything else may happen
/// together.
template <typename Object>
class Pool {
  struct Slot {
    explicit Slot(Object* made) : object(made) {}
    Object* object;
    std::shared_mutex in_use;
  };

 public:
  /// Keeps its object from being destroyed; may hold none.
  class Loan {
   public:
    Loan() = default;
    explicit operator bool() const { return slot_ != nullptr; }
    Object* get() const { return slot_ == nullptr ? nullptr : slot_->object; }
    Object* operator->() const { return get(); }

   private:
    friend class Pool;
    explicit Loan(std::shared_ptr<Slot> slot)
        : slot_(std::move(slot)), lock_(slot_->in_use, std::try_to_lock) {
      if (lock_ && slot_->object != nullptr) return;
      // Another thread destroys it, or has done so meanwhile.
      lock_ = {};
      slot_.reset();
    }
    std::shared_ptr<Slot> slot_;
    std::shared_lock<std::shared_mutex> lock_;
  };

  explicit Pool(std::size_t most) : most_(most) {}

  /// Null is not kept: creation failed.
  void add(Object* object) {
    if (object == nullptr) return;
    const std::lock_guard hold(mutex_);
    slots_.push_back(std::make_shared<Slot>(object));
  }
  bool is_full() {
    const std::lock_guard hold(mutex_);
    return slots_.size() >= most_;
  }
  std::size_t size() {
    const std::lock_guard hold(mutex_);
    return slots_.size();
  }

  Loan borrow(Chance& chance) {
    const auto slot = pick(chance);
    return slot == nullptr ? Loan() : Loan(slot);
  }

  /// Destroys one that no thread uses. `destroy` gives 0 when it is gone, EBUSY when others depend on it.
  template <typename Destroy>
  void destroy_one(Chance& chance, Destroy destroy) {
    const auto slot = pick(chance);
    if (slot == nullptr) return;
    const std::unique_lock alone(slot->in_use, std::try_to_lock);
    if (!alone || slot->object == nullptr) return;
    if (destroy(slot->object) != 0) return;
    slot->object = nullptr;
    const std::lock_guard hold(mutex_);
    slots_.erase(std::remove(slots_.begin(), slots_.end(), slot), slots_.end());
  }

  /// Destroys all of them, when no other thread is left; says how many could not be.
  template <typename Destroy>
  std::size_t destroy_all(Destroy destroy) {
    std::size_t left = 0;
    for (const auto& slot : slots_) left += destroy(slot->object) == 0 ? 0 : 1;
    slots_.clear();
    return left;
  }

 private:
  std::shared_ptr<Slot> pick(Chance& chance) {
    const std::lock_guard hold(mutex_);
    return slots_.empty() ? nullptr : slots_[chance.below(slots_.size())];
  }

  std::size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace urnic::stress
