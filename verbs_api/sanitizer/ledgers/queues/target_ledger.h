// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TargetLedger: the memory that outstanding requests let the NIC write to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "transport/work_request.h"

namespace urnic::verbs_api {

/// Ranges of bytes. The same range may be there several times: programs that do not look at what arrives have
/// one for all. The owner guards it.
class TargetLedger {
 public:
  /// An address that the elements share with other requests, in ranges that are not the same.
  std::optional<std::uint64_t> add(std::span<const transport::Sge> elements);
  void remove(std::span<const transport::Sge> elements);
  void clear() { ranges_.clear(); }

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // its first byte, and the one after its last

  std::optional<std::uint64_t> shared(const Range& range) const;

  std::map<Range, std::uint32_t> ranges_;  // and how often it is there
};

}  // namespace urnic::verbs_api
