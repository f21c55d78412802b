#include "nic/congestion/parameter_files.h"

#include <string_view>
#include <variant>

namespace urnic::nic {
namespace {

namespace congestion = transport::congestion;

bool is_of_ofed(std::string_view notification) {
  return notification != "enable" && notification != "per_address";
}

}  // namespace

std::vector<ParameterFile> parameter_files(const congestion::Choice& choice,
                                           const congestion::NotificationParameters& notifications) {
  std::vector<ParameterFile> files;
  if (const auto* const dcqcn = std::get_if<congestion::DcqcnParameters>(&choice.parameters)) {
    for (const auto& parameter : congestion::kDcqcnParameters) {
      files.push_back({"ecn/roce_rp/" + std::string(parameter.name), dcqcn->*parameter.value});
    }
  }
  for (const auto& parameter : congestion::kNotificationParameters) {
    if (!is_of_ofed(parameter.name)) continue;
    files.push_back({"ecn/roce_np/" + std::string(parameter.name), notifications.*parameter.value});
  }
  return files;
}

}  // namespace urnic::nic
