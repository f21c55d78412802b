// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Graveyard: objects that the program has destroyed, so that their use can be told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/sanitizer/call_stack.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// Knows the addresses of destroyed objects until new objects have them. The memory of queue pairs,
/// completion queues and shared receive queues stays for a while, because programs look into it: their
/// context is one whose operations complain and fail. Any thread.
class Graveyard {
 public:
  static constexpr std::size_t kMostBuried = 1024;
  static constexpr std::size_t kMostKnown = 65536;

  explicit Graveyard(Complaints& complaints);

  /// ObjectRegistry says so.
  void note_destroyed(const void* object, ObjectKind kind, std::uint32_t handle);
  void note_given(const void* object);
  void note_unknown(const void* object);

  /// Whose memory is to stay; `free` ends it.
  void bury(ibv_qp& qp, std::function<void()> free);
  void bury(ibv_cq& cq, std::function<void()> free);
  void bury(ibv_srq& srq, std::function<void()> free);

  /// A program calls `verb` with a buried object.
  void complain(const void* object, const char* verb);

  std::mutex& mutex() { return mutex_; }

 private:
  struct Grave {
    std::string name;
    CallPath calls;
  };

  void keep(std::function<void()> free);

  Complaints& complaints_;
  ibv_context context_{};
  std::mutex mutex_;  // guards what follows
  std::unordered_map<const void*, Grave> known_;
  std::deque<std::function<void()>> buried_;
};

}  // namespace urnic::verbs_api
