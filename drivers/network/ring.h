// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ring: a queue that allocates only when it becomes longer than it ever was.
#pragma once

#include <cassert>
#include <cstddef>
#include <vector>

namespace urnic::network {

template <typename T>
class Ring {
 public:
  bool is_empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// There must be one.
  const T& front() const {
    assert(!is_empty());
    return slots_[first_];
  }
  void push(const T& value) {
    if (count_ == slots_.size()) grow();
    slots_[(first_ + count_) & (slots_.size() - 1)] = value;
    ++count_;
  }
  /// Removes the oldest; there must be one.
  T pop() {
    const T value = front();
    first_ = (first_ + 1) & (slots_.size() - 1);
    --count_;
    return value;
  }

 private:
  void grow() {
    constexpr std::size_t kFirstSize = 8;
    std::vector<T> larger(slots_.empty() ? kFirstSize : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = slots_[(first_ + i) & (slots_.size() - 1)];
    slots_.swap(larger);
    first_ = 0;
  }

  std::vector<T> slots_;  // a power of two
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace urnic::network
