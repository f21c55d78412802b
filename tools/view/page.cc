#include "tools/view/page.h"

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

// page/, put together by assemble_page.cmake.
asm(R"(
  .section .rodata
  .global urnic_view_page
  .global urnic_view_page_end
urnic_view_page:
  .incbin ")" URNIC_VIEW_PAGE R"("
urnic_view_page_end:
  .previous
)");
extern "C" const char urnic_view_page[] __attribute__((visibility("hidden")));
extern "C" const char urnic_view_page_end[] __attribute__((visibility("hidden")));

namespace urnic::view {
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

std::string page_of(std::string_view title, const nlohmann::ordered_json& trace) {
  const std::string_view page(urnic_view_page,
                              static_cast<std::size_t>(urnic_view_page_end - urnic_view_page));
  // Captures and names of files hold any bytes, and none of them may end the script element.
  std::string data = trace.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  boost::replace_all(data, "<", "\\u003c");
  const std::size_t title_at = page.find(kTitle);
  const std::size_t data_at = page.find(kData);
  std::string html;
  html.reserve(page.size() + data.size());
  html += page.substr(0, title_at);
  html += html_of(title);
  html += page.substr(title_at + kTitle.size(), data_at - title_at - kTitle.size());
  html += data;
  html += page.substr(data_at + kData.size());
  return html;
}

}  // namespace urnic::view
