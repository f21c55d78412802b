// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HtmlWriter: HTML with escaped text, in which every element that begins also ends.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace urnic::sheet {

class HtmlWriter {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

  /// An element that ends with the scope of this object.
  class Element {
   public:
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    ~Element() { writer_.end(name_); }

   private:
    friend class HtmlWriter;
    Element(HtmlWriter& writer, std::string_view name) : writer_(writer), name_(name) {}

    HtmlWriter& writer_;
    std::string_view name_;
  };

  HtmlWriter() = default;
  HtmlWriter(const HtmlWriter&) = delete;
  HtmlWriter& operator=(const HtmlWriter&) = delete;

  /// Begins an element; `name` is of static storage.
  [[nodiscard]] Element begin(std::string_view name, Attributes attributes = {});
  /// A whole element that has only text.
  void element(std::string_view name, std::string_view text, Attributes attributes = {});
  /// An element that has no end, such as `meta`.
  void empty_element(std::string_view name, Attributes attributes);
  void text(std::string_view text);
  /// Not escaped: a document type, or CSS.
  void raw(std::string_view text) { html_ += text; }

  const std::string& html() const { return html_; }

 private:
  void tag(std::string_view name, Attributes attributes);
  void end(std::string_view name);

  std::string html_;
};

}  // namespace urnic::sheet
