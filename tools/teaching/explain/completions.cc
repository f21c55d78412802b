// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The chapters about completions: their statuses, and what NICs put into vendor_err.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nic/personality/personality.h"
#include "nic/personality/vendor_error.h"
#include "tools/teaching/explain/topic.h"
#include "tools/teaching/sheet/sheet_words.h"
#include "transport/completion.h"
#include "transport/enum_names.h"
#include "verbs_api/datapath/wc_status.h"

namespace urnic::explain {
namespace {

using nic::VendorErrorRow;
using transport::CompletionStatus;

constexpr std::string_view kPrefix = "IBV_WC_";

std::string full_name(CompletionStatus status) {
  return fmt::format("{}{}", kPrefix, name_of(status));
}

/// Which NICs have such numbers, as in "connectx5 and connectx6".
std::string nics_with(nic::VendorErrors kind) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < nic::kColumnCount; ++i) {
    const auto column = static_cast<nic::Column>(i);
    if (nic::personality_of(column).vendor_errors == kind) names.push_back(name_of(column));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string numbers_for(CompletionStatus status) {
  std::vector<std::string> numbers;
  for (const VendorErrorRow& row : nic::vendor_error_rows()) {
    if (row.status == status) numbers.push_back(fmt::format("{:#x} of {}", row.number, nics_with(row.kind)));
  }
  return fmt::format("{}", fmt::join(numbers, ", "));
}

Topic topic_of(CompletionStatus status) {
  const auto number = static_cast<unsigned>(verbs_api::wc_status(status));
  const sheet::StatusWords words = sheet::words_of(status);
  const std::string text = fmt::format("{} ({}), the status of a completion\n\n", full_name(status), number) +
                           labelled("meaning", words.meaning) + labelled("look at", words.look_at) +
                           labelled("vendor_err", numbers_for(status)) +
                           advice_text(find_advice(advice_on_statuses(), name_of(status)));
  return {.name = full_name(status),
          .other_names = {std::string(name_of(status)), std::to_string(number)},
          .kind = std::to_string(number),
          .summary = std::string(words.meaning),
          .text = text};
}

/// Statuses that urnic gives only where `--fault wc:...` says so.
struct OtherStatus {
  unsigned number;
  std::string_view name;
  std::string_view meaning;
};

constexpr std::string_view kOfReliableDatagrams =
    "It is of reliable datagrams (RD), which are not in RoCE, and which no verb makes.";
constexpr std::string_view kOfTagMatching = "It is of tag matching, which urnic does not have.";

constexpr OtherStatus kOthers[] = {
    {IBV_WC_LOC_EEC_OP_ERR, "LOC_EEC_OP_ERR", kOfReliableDatagrams},
    {IBV_WC_LOC_RDD_VIOL_ERR, "LOC_RDD_VIOL_ERR", kOfReliableDatagrams},
    {IBV_WC_REM_INV_RD_REQ_ERR, "REM_INV_RD_REQ_ERR", kOfReliableDatagrams},
    {IBV_WC_REM_ABORT_ERR, "REM_ABORT_ERR", "The responder has ended the operation."},
    {IBV_WC_INV_EECN_ERR, "INV_EECN_ERR", kOfReliableDatagrams},
    {IBV_WC_INV_EEC_STATE_ERR, "INV_EEC_STATE_ERR", kOfReliableDatagrams},
    {IBV_WC_FATAL_ERR, "FATAL_ERR", "The device has failed; IBV_EVENT_DEVICE_FATAL tells of it, too."},
    {IBV_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR", "A response did not come in time."},
    {IBV_WC_GENERAL_ERR, "GENERAL_ERR",
     "A failure that has no other status. irdma gives it for all that is no flush (read in rdma-core)."},
    {IBV_WC_TM_ERR, "TM_ERR", kOfTagMatching},
    {IBV_WC_TM_RNDV_INCOMPLETE, "TM_RNDV_INCOMPLETE", kOfTagMatching},
};

Topic topic_of(const OtherStatus& status) {
  const std::string name = fmt::format("{}{}", kPrefix, status.name);
  const std::string number = std::to_string(status.number);
  const std::string text =
      fmt::format("{} ({}), the status of a completion; urnic gives it only where --fault says so\n\n", name,
                  number) +
      labelled("meaning", status.meaning);
  return {.name = name,
          .other_names = {std::string(status.name), number},
          .kind = number,
          .summary = std::string(status.meaning),
          .text = text};
}

Topic topic_of(const VendorErrorRow& row) {
  const std::string number = fmt::format("{:#x}", row.number);
  const std::string status = full_name(row.status);
  const std::string wrong = fmt::format("if (wc.vendor_err == {}) handle_failure(&wc);", number);
  const std::string right = fmt::format("if (wc.status == {}) handle_failure(&wc);", status);
  const std::string text =
      fmt::format("{}, the vendor_err of {}\n\n", number, nics_with(row.kind)) +
      labelled("status",
               fmt::format("{} ({})", status, static_cast<unsigned>(verbs_api::wc_status(row.status)))) +
      labelled("cause", row.cause) + labelled("known", row.source) +
      labelled("look at", sheet::words_of(row.status).look_at) +
      labelled("do", "decide by the status: each maker has numbers of its own, and urnic's is 0") +
      code_text({.wrong = wrong, .right = right});
  return {.name = number,
          .other_names = {std::to_string(row.number)},
          .kind = std::to_string(static_cast<unsigned>(verbs_api::wc_status(row.status))),
          .summary = fmt::format("{}: {}", nics_with(row.kind), row.cause),
          .text = text};
}

}  // namespace

Chapter statuses_of_completions() {
  Chapter chapter{.title = "Statuses of completions", .topics = {}};
  for (std::size_t i = 0; i < transport::count_of<CompletionStatus>(); ++i) {
    chapter.topics.push_back(topic_of(static_cast<CompletionStatus>(i)));
  }
  for (const OtherStatus& status : kOthers) chapter.topics.push_back(topic_of(status));
  return chapter;
}

Chapter vendor_errors() {
  Chapter chapter{.title = "vendor_err of other NICs, with the status that it comes with", .topics = {}};
  for (const VendorErrorRow& row : nic::vendor_error_rows()) chapter.topics.push_back(topic_of(row));
  return chapter;
}

}  // namespace urnic::explain
