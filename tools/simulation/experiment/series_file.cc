// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/series_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace urnic::experiment {
namespace {

struct Line {
  transport::Duration time{};
  std::size_t series = 0;
  double value = 0;
};

/// A field of CSV (RFC 4180): names of hosts are any text.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace

Result<void, Error> write_series(const std::string& path, const std::vector<Series>& series) {
  std::vector<Line> lines;
  std::vector<std::string> names;
  const bool is_csv = path.ends_with(".csv");
  for (std::size_t i = 0; i < series.size(); ++i) {
    names.push_back(
        is_csv ? quoted(series[i].of)
               : nlohmann::json(series[i].of).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    for (const Sample& sample : series[i].samples) {
      lines.push_back({.time = sample.time, .series = i, .value = sample.value});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.time < b.time; });

  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (is_csv) out << "t_us,metric,of,value\n";
  for (const Line& line : lines) {
    const double time = static_cast<double>(line.time.count()) / 1e3;
    const std::string_view metric = name_of(series[line.series].metric);
    const std::string& of = names[line.series];
    out << (is_csv ? fmt::format("{},{},{},{}\n", time, metric, of, line.value)
                   : fmt::format("{{\"t_us\":{},\"metric\":\"{}\",\"of\":{},\"value\":{}}}\n", time, metric,
                                 of, line.value));
  }
  if (!out.flush()) {
    return Error{.code = errno, .message = fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  }
  return success();
}

}  // namespace urnic::experiment
