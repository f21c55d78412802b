// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Members: reads the members of a JSON object and complains, with the path in the document, about those that
// are wrong, missing or unknown.
#pragma once

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "transport/result.h"
#include "transport/time.h"

namespace urnic::network {

/// The first complaint about a document. Later ones are mostly its consequences and are dropped.
class Complaint {
 public:
  /// `path` is where in the document: "links[3].rate".
  void add(std::string_view path, std::string_view what);
  bool is_made() const { return !first_.empty(); }
  Error error() const { return Error{.code = EINVAL, .message = first_}; }

 private:
  std::string first_;
};

/// One object. What it reads wrongly it complains of, and leaves as it was. `value`, `known` and `complaint`
/// outlive it.
class Members {
 public:
  using Json = nlohmann::ordered_json;

  /// Complains if `value` is no object, or has a member that is not `known`.
  Members(const Json& value, std::string path, std::span<const std::string_view> known, Complaint& complaint);
  Members(const Json& value, std::string path, std::initializer_list<std::string_view> known,
          Complaint& complaint)
      : Members(value, std::move(path), std::span(known.begin(), known.size()), complaint) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The member, or null.
  const Json* find(std::string_view name) const;
  /// The same, and complains if there is none.
  const Json* require(std::string_view name) const;
  std::string path_of(std::string_view name) const;

  // Each does nothing if there is no such member, and tells whether it has read one.
  bool read_text(std::string_view name, std::string& text) const;
  bool read_size(std::string_view name, std::uint64_t& bytes) const;
  bool read_rate(std::string_view name, std::uint64_t& rate_bps) const;
  bool read_duration(std::string_view name, transport::Duration& duration) const;
  bool read_fraction(std::string_view name, double& number) const;
  bool read_whole(std::string_view name, std::uint64_t first, std::uint64_t last,
                  std::uint64_t& number) const;

 private:
  void complain(std::string_view name, std::string_view what) const;

  const Json& value_;
  std::string path_;
  Complaint& complaint_;
};

/// What stands in the document, short enough for a complaint.
std::string shown(const nlohmann::ordered_json& value);

/// A whole number from `first` to `last`, or nothing.
std::optional<std::uint64_t> whole_number(const nlohmann::ordered_json& value, std::uint64_t first,
                                          std::uint64_t last);

/// Parses JSON with comments. Errors (EINVAL): no JSON, with line and column; an object that has a member
/// twice; more bytes or levels than any topology needs.
Result<nlohmann::ordered_json, Error> parse_json(std::string_view text);

}  // namespace urnic::network
