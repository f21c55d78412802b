// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SgeArray: the elements of one work request, on the stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "transport/receive_queue.h"
#include "transport/work_request.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Room for as many elements as a work request can have. Made for every post: what is not used is not
/// touched.
class SgeArray {
 public:
  static constexpr std::size_t kCapacity = transport::kMaxSges;

  SgeArray() {}  // NOLINT: leaves the room as it is

  /// The caller has checked the count.
  SgeArray(const ibv_sge* list, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      add({.address = list[i].addr, .length = list[i].length, .lkey = transport::Lkey{list[i].lkey}});
    }
  }

  void add(const transport::Sge& sge) {
    ::new (&room_[count_++ * sizeof(transport::Sge)]) transport::Sge(sge);
  }

  std::span<const transport::Sge> elements() const {
    return {std::launder(reinterpret_cast<const transport::Sge*>(room_.data())), count_};
  }

 private:
  std::size_t count_ = 0;
  alignas(transport::Sge) std::array<std::byte, kCapacity * sizeof(transport::Sge)> room_;
};

}  // namespace urnic::verbs_api
