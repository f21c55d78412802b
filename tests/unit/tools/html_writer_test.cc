// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/html_writer.h"

#include <gtest/gtest.h>

namespace urnic::sheet {
namespace {

TEST(HtmlWriter, EscapesTextAndValues) {
  HtmlWriter html;
  html.element("p", R"(a < b && "c" > d)", {{"title", R"("><script>)"}});
  EXPECT_EQ(html.html(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">a &lt; b &amp;&amp; &quot;c&quot; &gt; d</p>\n");
}

TEST(HtmlWriter, EndsElementsFromTheInside) {
  HtmlWriter html;
  {
    const auto outer = html.begin("div");
    const auto inner = html.begin("span");
    html.text("x");
  }
  html.empty_element("meta", {{"charset", "utf-8"}});
  EXPECT_EQ(html.html(), "<div><span>x</span></div>\n<meta charset=\"utf-8\">\n");
}

}  // namespace
}  // namespace urnic::sheet
