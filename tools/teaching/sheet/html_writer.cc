// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/html_writer.h"

namespace urnic::sheet {

HtmlWriter::Element HtmlWriter::begin(std::string_view name, Attributes attributes) {
  tag(name, attributes);
  return {*this, name};
}

void HtmlWriter::element(std::string_view name, std::string_view text, Attributes attributes) {
  const Element element = begin(name, attributes);
  this->text(text);
}

void HtmlWriter::empty_element(std::string_view name, Attributes attributes) {
  tag(name, attributes);
  html_ += '\n';
}

void HtmlWriter::text(std::string_view text) {
  for (const char character : text) {
    switch (character) {
      case '&':
        html_ += "&amp;";
        break;
      case '<':
        html_ += "&lt;";
        break;
      case '>':
        html_ += "&gt;";
        break;
      case '"':
        html_ += "&quot;";
        break;
      default:
        html_ += character;
    }
  }
}

void HtmlWriter::tag(std::string_view name, Attributes attributes) {
  html_ += '<';
  html_ += name;
  for (const auto& [attribute, value] : attributes) {
    html_ += ' ';
    html_ += attribute;
    html_ += "=\"";
    text(value);
    html_ += '"';
  }
  html_ += '>';
}

void HtmlWriter::end(std::string_view name) {
  html_ += "</";
  html_ += name;
  const bool is_inline = name == "td" || name == "th" || name == "span";
  html_ += is_inline ? ">" : ">\n";
}

}  // namespace urnic::sheet
