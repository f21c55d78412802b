// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventLedger: asynchronous events that wait for a program to read them.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// One that the program has not read.
struct UnreadEvent {
  std::string name;       ///< as ibv_event_type_str() has it
  bool is_fatal = false;  ///< its object has failed for good, and nothing else tells of it
  std::chrono::steady_clock::time_point since{};
};

/// Any thread.
class EventLedger {
 public:
  /// After so long, no thread of the program reads fatal events, and other ones.
  static constexpr std::chrono::seconds kFatalUnread{2};
  static constexpr std::chrono::seconds kUnread{10};
  /// More of them at once are not read either.
  static constexpr std::size_t kMostUnread = 16;

  using Ask = std::function<std::vector<UnreadEvent>()>;

  explicit EventLedger(Complaints& complaints) : complaints_(complaints) {}

  /// `ask` tells the events of a context, the oldest first, until remove() returns. It must not call this.
  void add(const void* context, Ask ask);
  void remove(const void* context);

  /// Time has passed.
  void look(std::chrono::steady_clock::time_point now);

 private:
  struct Context {
    Ask ask;
    bool is_told_of_fatal = false;
    bool is_told_of_others = false;
  };

  void look(std::chrono::steady_clock::time_point now, Context& context);

  Complaints& complaints_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<const void*, Context> contexts_;
};

}  // namespace urnic::verbs_api
