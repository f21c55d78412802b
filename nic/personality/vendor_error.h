// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What stands in vendor_err of a completion that has failed: one table of the numbers that other NICs give.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "nic/personality/personality.h"
#include "transport/completion.h"

namespace urnic::nic {

struct VendorErrorRow {
  VendorErrors kind;
  std::uint32_t number;
  transport::CompletionStatus status;
  std::optional<transport::FailureDetail> detail;  ///< whichever, where there is none
  bool is_of_receives;                             ///< and not of sends only
  std::string_view cause;                          ///< what has happened: a sentence without a full stop
  std::string_view source;                         ///< where that is known from
};

/// The numbers differ from each other.
std::span<const VendorErrorRow> vendor_error_rows();

/// 0 for what no source tells.
std::uint32_t vendor_error(VendorErrors kind, const transport::Completion& completion);

}  // namespace urnic::nic
