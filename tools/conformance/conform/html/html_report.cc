// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/html/html_report.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/conformance/conform/results/result_json.h"
#include "tools/inspection/page/embedded_page.h"
#include "tools/inspection/page/fill_page.h"
#include "tools/inspection/view/page.h"
#include "tools/inspection/view/trace_builder.h"
#include "tools/inspection/view/trace_json.h"

URNIC_EMBEDDED_PAGE(embedded_conform_page, urnic_conform_page, URNIC_CONFORM_PAGE)

namespace urnic::conform {
namespace {

using nlohmann::ordered_json;

/// What `urnic view` shows of the packets; null if they cannot be read.
ordered_json trace_of(const CaseResult& result) {
  if (result.capture.empty()) return nullptr;
  view::Layouts layouts;
  std::string why;
  auto capture = view::read_capture(result.capture, 0, {}, layouts, why);
  if (!capture) return nullptr;
  capture->file.name = result.of.name;
  std::vector<view::Capture> captures;
  captures.push_back(*std::move(capture));
  return view::trace_json(view::build_trace(std::move(captures)), layouts);
}

}  // namespace

std::string html_report(const std::string& peer, std::span<const CaseResult> results) {
  auto cases = ordered_json::array();
  for (const CaseResult& result : results) {
    ordered_json each = json_of(result);
    each["trace"] = trace_of(result);
    cases.push_back(std::move(each));
  }
  const ordered_json data{{"peer", peer},
                          {"version", URNIC_VERSION},
                          {"view", view::page_without_data()},
                          {"cases", std::move(cases)}};
  return tools::fill_page(embedded_conform_page(), "urnic conform " + peer, data);
}

}  // namespace urnic::conform
