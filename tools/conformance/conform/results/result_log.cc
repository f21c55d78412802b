// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/results/result_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "tools/conformance/conform/results/result_json.h"

namespace urnic::conform {
namespace {

using nlohmann::json;

Error failed(const std::string& path, const char* what) {
  const int code = errno;
  return {code, fmt::format("{}: cannot {} it: {}", path, what, std::strerror(code))};
}

Error wrong(const std::string& path, const std::string& why) {
  return {EINVAL, fmt::format("{}: {}; name another file", path, why)};
}

std::string line_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json head_for(const std::string& peer) {
  return {{"urnic_conform", URNIC_VERSION}, {"peer", peer}};
}

/// Why a file that begins so cannot be gone on with.
std::optional<std::string> objection(const json& head, const std::string& peer) {
  if (!head.is_object() || !head.contains("urnic_conform")) return "this is no file of --resume";
  if (head["urnic_conform"] != URNIC_VERSION) return "another version of urnic has made it";
  if (head.value("peer", json()) != peer) return "it is about another peer";
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ResultLog>, Error> ResultLog::open(const std::string& path, const std::string& peer,
                                                          std::span<const Case> cases) {
  std::unique_ptr<ResultLog> log(new ResultLog);
  std::string text;
  if (std::filesystem::exists(path)) {
    std::ostringstream content;
    errno = 0;
    if (!(content << std::ifstream(path, std::ios::binary).rdbuf()) && errno != 0) {
      return failure(failed(path, "read"));
    }
    text = std::move(content).str();
  }
  const std::string whole = text.substr(0, text.rfind('\n') + 1);
  std::istringstream lines(whole);
  std::string line;
  for (unsigned number = 1; std::getline(lines, line); ++number) {
    const json value = json::parse(line, nullptr, false);
    if (number == 1) {
      if (const auto why = objection(value, peer)) return failure(wrong(path, *why));
      continue;
    }
    const json name = value.is_object() ? value.value("name", json()) : json();
    const auto of = std::find_if(cases.begin(), cases.end(), [&](const Case& each) {
      return name.is_string() && name.get_ref<const std::string&>() == each.name;
    });
    if (of == cases.end() && name.is_string()) continue;
    auto result = of == cases.end() ? std::nullopt : result_from(value, *of);
    if (!result) return failure(wrong(path, fmt::format("line {} is no result", number)));
    log->earlier_.insert_or_assign(std::string(of->name), *std::move(result));
  }
  if (whole.empty() && !text.empty()) return failure(wrong(path, "this is no file of --resume"));
  log->file_.reset(std::fopen(path.c_str(), text.empty() ? "w" : "r+"));
  if (log->file_ == nullptr) return failure(failed(path, "write"));
  std::error_code code;
  std::filesystem::resize_file(path, whole.size(), code);
  std::fseek(log->file_.get(), 0, SEEK_END);
  const std::string head = whole.empty() ? line_of(head_for(peer)) : "";
  if (code || std::fwrite(head.data(), 1, head.size(), log->file_.get()) != head.size() ||
      std::fflush(log->file_.get()) != 0) {
    return failure(failed(path, "write"));
  }
  return log;
}

const CaseResult* ResultLog::find(std::string_view name) const {
  const auto found = earlier_.find(name);
  const bool is_judged = found != earlier_.end() && found->second.verdict != Verdict::kUnknown;
  return is_judged ? &found->second : nullptr;
}

bool ResultLog::add(const CaseResult& result) {
  const std::string line = line_of(json_of(result));
  return std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
         std::fflush(file_.get()) == 0;
}

}  // namespace urnic::conform
