#include "tools/experiment/plot.h"

#include <fmt/core.h>

#include <boost/algorithm/string/replace.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

// plot/, put together by the build.
asm(R"(
  .section .rodata
  .global urnic_plot_page
  .global urnic_plot_page_end
urnic_plot_page:
  .incbin ")" URNIC_PLOT_PAGE R"("
urnic_plot_page_end:
  .previous
)");
extern "C" const char urnic_plot_page[] __attribute__((visibility("hidden")));
extern "C" const char urnic_plot_page_end[] __attribute__((visibility("hidden")));

namespace urnic::experiment {
namespace {

using Json = nlohmann::ordered_json;

std::string data_of(const Title& title, const Outcome& outcome, const std::vector<Series>& series) {
  Json all = Json::array();
  for (const Series& one : series) {
    Json samples = Json::array();
    for (const Sample& sample : one.samples) {
      samples.push_back({static_cast<double>(sample.time.count()) / 1e3, sample.value});
    }
    all.push_back({{"metric", name_of(one.metric)}, {"of", one.of}, {"samples", std::move(samples)}});
  }
  const Json data = {{"title", fmt::format("{} on {}, seed {}", title.workload, title.topology, title.seed)},
                     {"end_us", static_cast<double>(outcome.time.count()) / 1e3},
                     {"report", text_report(title, outcome)},
                     {"series", std::move(all)}};
  // Names are any text, and none may end the script element.
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  boost::replace_all(text, "<", "\\u003c");
  return text;
}

}  // namespace

Result<void, Error> write_plot(const std::string& path, const Title& title, const Outcome& outcome,
                               const std::vector<Series>& series) {
  const std::string_view page(urnic_plot_page,
                              static_cast<std::size_t>(urnic_plot_page_end - urnic_plot_page));
  constexpr std::string_view kData = "@DATA@";
  const std::size_t data_at = page.find(kData);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << page.substr(0, data_at) << data_of(title, outcome, series) << page.substr(data_at + kData.size());
  if (!out.flush()) {
    return Error{.code = errno, .message = fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  }
  return success();
}

}  // namespace urnic::experiment
