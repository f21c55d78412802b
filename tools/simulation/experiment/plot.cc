// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/plot.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/inspection/page/embedded_page.h"
#include "tools/inspection/page/fill_page.h"

URNIC_EMBEDDED_PAGE(embedded_plot_page, urnic_plot_page, URNIC_PLOT_PAGE)

namespace urnic::experiment {
namespace {

using Json = nlohmann::ordered_json;

Json data_of(const Title& title, const Outcome& outcome, const std::vector<Series>& series) {
  Json all = Json::array();
  for (const Series& one : series) {
    Json samples = Json::array();
    for (const Sample& sample : one.samples) {
      samples.push_back({static_cast<double>(sample.time.count()) / 1e3, sample.value});
    }
    all.push_back({{"metric", name_of(one.metric)}, {"of", one.of}, {"samples", std::move(samples)}});
  }
  return {{"end_us", static_cast<double>(outcome.time.count()) / 1e3},
          {"report", text_report(title, outcome)},
          {"series", std::move(all)}};
}

}  // namespace

Result<void, Error> write_plot(const std::string& path, const Title& title, const Outcome& outcome,
                               const std::vector<Series>& series) {
  const std::string heading = fmt::format("{} on {}, seed {}", title.workload, title.topology, title.seed);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << tools::fill_page(embedded_plot_page(), heading, data_of(title, outcome, series));
  if (!out.flush()) {
    return Error{.code = errno, .message = fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  }
  return success();
}

}  // namespace urnic::experiment
