// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ListLedger: lists of work requests of which a queue pair has taken the beginning only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// What is known of a list that a program posts.
struct PostedList {
  const void* first = nullptr;  ///< names its first request, in the program's memory
  std::uint64_t content = 0;    ///< of the first request: another number if it is another one
};

/// The owner guards it.
class ListLedger {
 public:
  ListLedger(const std::string& name, Complaints& complaints) : name_(name), complaints_(complaints) {}

  void begins(const PostedList& list);
  /// So many were taken before one was refused.
  void refused(const PostedList& list, std::size_t taken);
  /// The program may have changed its list for something new.
  void forget() { partial_.reset(); }

 private:
  struct Partial {
    PostedList list;
    std::size_t taken = 0;
  };

  const std::string& name_;
  Complaints& complaints_;
  std::optional<Partial> partial_;
};

}  // namespace urnic::verbs_api
