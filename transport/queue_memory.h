// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueueMemory and QueueArray: where the rings of queues are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace urnic::transport {

/// What a ring is for. The provider of the memory may care; the numbers do not change.
enum class QueueKind : std::uint8_t { kSend = 1, kReceive = 2, kCompletion = 3 };

/// Provides the memory of queues in place of the heap. Used where queues are made, resized and destroyed, by
/// the thread that asks for that and under no lock of ours, and never while work is done. Outlives the
/// queues.
class QueueMemory {
 public:
  virtual ~QueueMemory() = default;
  /// Returns at least `bytes` bytes, at an address that `alignment`, a power of two, divides. Null: the
  /// caller shall use the heap. Throws std::bad_alloc when there is no memory.
  virtual void* allocate(std::size_t bytes, std::size_t alignment, QueueKind kind) = 0;
  /// Takes back what allocate() has given.
  virtual void free(void* memory, QueueKind kind) noexcept = 0;
};

/// An array whose size is known when it is made, and which is nothing but memory when it is not needed any
/// more.
template <typename Element>
class QueueArray {
 public:
  static_assert(std::is_trivially_copyable_v<Element>);
  static constexpr std::size_t kAlignment = std::max<std::size_t>(64, alignof(Element));

  /// `count` elements, in memory from `provider`, or from the heap if that is null. They have no value before
  /// one is assigned: none is touched here, so that a queue pair that is idle, or never full, takes little
  /// memory. Throws std::bad_alloc.
  QueueArray(std::size_t count, QueueKind kind, QueueMemory* provider) : provider_(provider), kind_(kind) {
    // Whole units, so that a provider that gives one piece after the other need not align anything.
    const std::size_t bytes = (count * sizeof(Element) + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = provider_ != nullptr ? provider_->allocate(bytes, kAlignment, kind) : nullptr;
    if (memory == nullptr) {
      provider_ = nullptr;
      memory = ::operator new (bytes, std::align_val_t{kAlignment});
    }
    elements_ = static_cast<Element*>(memory);
  }
  ~QueueArray() {
    if (provider_ != nullptr) {
      provider_->free(elements_, kind_);
    } else {
      ::operator delete (elements_, std::align_val_t{kAlignment});
    }
  }
  QueueArray(const QueueArray&) = delete;
  QueueArray& operator=(const QueueArray&) = delete;

  void swap(QueueArray& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(provider_, other.provider_);
    std::swap(kind_, other.kind_);
  }

  Element& operator[](std::size_t index) { return elements_[index]; }
  const Element& operator[](std::size_t index) const { return elements_[index]; }

 private:
  Element* elements_ = nullptr;
  QueueMemory* provider_;  // null: the heap
  QueueKind kind_;
};

}  // namespace urnic::transport
