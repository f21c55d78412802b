// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/abi/object_registry.h"

#include <algorithm>

namespace urnic::verbs_api {

std::vector<const void*> ObjectRegistry::all_of(const ibv_context& context, ObjectKind kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<const void*> found;
  for (const auto& [object, entry] : entries_) {
    if (entry.kind == kind && entry.context == &context) found.push_back(object);
  }
  return found;
}

std::vector<std::uint32_t> ObjectRegistry::open_contexts(const ibv_device& device) const {
  std::vector<std::uint32_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [context, number] : contexts_) {
      if (context->device == &device) numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool ObjectRegistry::has_any_of(const ibv_context& context) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry.second.context == &context; });
}

ObjectClaim::ObjectClaim(const void* object, ObjectKind kind) : object_(object), error_(ENOENT) {
  const std::lock_guard lock(objects().mutex_);
  const auto found = objects().entries_.find(object);
  if (found == objects().entries_.end() || found->second.kind != kind) return;
  error_ = found->second.is_claimed ? EBUSY : 0;
  found->second.is_claimed = true;
}

ObjectClaim::~ObjectClaim() {
  if (error_ != 0 || object_ == nullptr) return;
  const std::lock_guard lock(objects().mutex_);
  objects().entries_.at(object_).is_claimed = false;
}

void ObjectClaim::take_out() {
  const std::lock_guard lock(objects().mutex_);
  const auto taken = objects().entries_.find(object_);
  note_destroyed(object_, taken->second.kind, taken->second.handle);
  objects().entries_.erase(taken);
  object_ = nullptr;
}

}  // namespace urnic::verbs_api
