// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/page.h"

#include <nlohmann/json.hpp>

#include "tools/inspection/page/embedded_page.h"
#include "tools/inspection/page/fill_page.h"

URNIC_EMBEDDED_PAGE(embedded_view_page, urnic_view_page, URNIC_VIEW_PAGE)

namespace urnic::view {

std::string_view page_without_data() {
  return embedded_view_page();
}

std::string page_of(std::string_view title, const nlohmann::ordered_json& trace) {
  return tools::fill_page(embedded_view_page(), title, trace);
}

}  // namespace urnic::view
