// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/json_members.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "drivers/network/quantity.h"

namespace urnic::network {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;
constexpr int kMaxLevels = 16;
constexpr std::size_t kMaxShown = 40;

using Json = nlohmann::ordered_json;

/// Sees the document while it is parsed: nlohmann's objects forget that a member came twice.
class DocumentWatch {
 public:
  bool on_event(int depth, nlohmann::detail::parse_event_t event, const Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second) {
      complain(fmt::format("the member {} is given twice in one object", shown(parsed)));
    }
    if (depth > kMaxLevels) complain(fmt::format("it has more than {} levels", kMaxLevels));
    return true;
  }
  const std::string& complaint() const { return complaint_; }

 private:
  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
  }

  std::vector<std::set<std::string>> open_;  // the members of each object that has not ended
  std::string complaint_;
};

/// nlohmann's "[json.exception.parse_error.101] parse error at line 3, column 5: ..." from "line" on.
std::string parse_complaint(std::string_view what) {
  const std::size_t line = what.find("line ");
  return std::string(line == std::string_view::npos ? what : what.substr(line));
}

}  // namespace

void Complaint::add(std::string_view path, std::string_view what) {
  if (!is_made()) first_ = path.empty() ? std::string(what) : fmt::format("{}: {}", path, what);
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text.replace(kMaxShown, std::string::npos, "...");
  return text;
}

std::optional<std::uint64_t> whole_number(const Json& value, std::uint64_t first, std::uint64_t last) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  return number >= first && number <= last ? std::optional(number) : std::nullopt;
}

Result<Json, Error> parse_json(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    return Error{.code = EINVAL, .message = fmt::format("it has more than {} bytes", kMaxDocumentBytes)};
  }
  DocumentWatch watch;
  const auto on_event = [&watch](int depth, Json::parse_event_t event, Json& parsed) {
    return watch.on_event(depth, event, parsed);
  };
  try {
    Json document = Json::parse(text, on_event, /*allow_exceptions=*/true, /*ignore_comments=*/true);
    if (!watch.complaint().empty()) return Error{.code = EINVAL, .message = watch.complaint()};
    return document;
  } catch (const Json::exception& exception) {
    return Error{.code = EINVAL, .message = fmt::format("no JSON: {}", parse_complaint(exception.what()))};
  }
}

Members::Members(const Json& value, std::string path, std::span<const std::string_view> known,
                 Complaint& complaint)
    : value_(value), path_(std::move(path)), complaint_(complaint) {
  if (!value.is_object()) {
    complaint_.add(path_, fmt::format("an object {{...}} belongs here, not {}", shown(value)));
    return;
  }
  for (const auto& item : value.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    complaint_.add(path_, fmt::format("there is no member {}; there are {}", shown(Json(item.key())), names));
  }
}

const Members::Json* Members::find(std::string_view name) const {
  if (!value_.is_object()) return nullptr;
  const auto found = value_.find(std::string(name));
  return found == value_.end() ? nullptr : &*found;
}

const Members::Json* Members::require(std::string_view name) const {
  const Json* const member = find(name);
  if (member == nullptr) complaint_.add(path_, fmt::format("the member '{}' is missing", name));
  return member;
}

std::string Members::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Members::complain(std::string_view name, std::string_view what) const {
  complaint_.add(path_of(name), what);
}

bool Members::read_text(std::string_view name, std::string& text) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  if (!member->is_string()) {
    complain(name, fmt::format("a text in quotes belongs here, not {}", shown(*member)));
    return false;
  }
  text = member->get<std::string>();
  return true;
}

bool Members::read_size(std::string_view name, std::uint64_t& bytes) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  const auto read = member->is_string() ? parse_size(member->get_ref<const std::string&>()) : std::nullopt;
  if (read) bytes = *read;
  if (!read) {
    complain(name, fmt::format("{} is no size; write a number with B, kB, MB, GB, KiB, MiB or GiB: \"64KiB\"",
                               shown(*member)));
  }
  return read.has_value();
}

bool Members::read_rate(std::string_view name, std::uint64_t& rate_bps) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  const auto read = member->is_string() ? parse_rate(member->get_ref<const std::string&>()) : std::nullopt;
  if (read) rate_bps = *read;
  if (!read) {
    complain(name,
             fmt::format("{} is no rate; write a number with b/s, kb/s, Mb/s, Gb/s or Tb/s: \"100Gb/s\"",
                         shown(*member)));
  }
  return read.has_value();
}

bool Members::read_duration(std::string_view name, transport::Duration& duration) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  const auto read =
      member->is_string() ? parse_duration(member->get_ref<const std::string&>()) : std::nullopt;
  if (read) duration = *read;
  if (!read) {
    complain(name,
             fmt::format("{} is no time; write a number with ns, us, ms or s: \"1us\"", shown(*member)));
  }
  return read.has_value();
}

bool Members::read_fraction(std::string_view name, double& number) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  if (!member->is_number()) {
    complain(name, fmt::format("a number such as 0.125 belongs here, not {}", shown(*member)));
    return false;
  }
  number = member->get<double>();
  return true;
}

bool Members::read_whole(std::string_view name, std::uint64_t first, std::uint64_t last,
                         std::uint64_t& number) const {
  const Json* const member = find(name);
  if (member == nullptr) return false;
  const auto read = whole_number(*member, first, last);
  if (read) number = *read;
  if (!read) {
    complain(name,
             fmt::format("a whole number from {} to {} belongs here, not {}", first, last, shown(*member)));
  }
  return read.has_value();
}

}  // namespace urnic::network
