// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/page/fill_page.h"

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

namespace urnic::tools {
namespace {

constexpr std::string_view kTitle = "@TITLE@";
constexpr std::string_view kData = "@DATA@";

std::string html_of(std::string_view text) {
  std::string html(text);
  boost::replace_all(html, "&", "&amp;");
  boost::replace_all(html, "<", "&lt;");
  return html;
}

}  // namespace

std::string fill_page(std::string_view page, std::string_view title, const nlohmann::ordered_json& data) {
  std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  boost::replace_all(text, "<", "\\u003c");
  const std::size_t title_at = page.find(kTitle);
  const std::size_t data_at = page.find(kData);
  std::string html;
  html.reserve(page.size() + text.size());
  html += page.substr(0, title_at);
  html += html_of(title);
  html += page.substr(title_at + kTitle.size(), data_at - title_at - kTitle.size());
  html += text;
  html += page.substr(data_at + kData.size());
  return html;
}

}  // namespace urnic::tools
