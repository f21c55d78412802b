// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ParameterFiles: the parameters of congestion control as OFED shows them, one file each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/congestion/choice.h"
#include "transport/congestion/notification_parameters.h"
#include "transport/result.h"

namespace urnic::nic {

/// `name` is relative to the device's folder: "ecn/roce_rp/rpg_ai_rate". Units are OFED's, as in the tables
/// that the values come from (dcqcn_parameters.h, notification_parameters.h).
struct ParameterFile {
  std::string name;
  std::uint32_t value = 0;
};

/// Below roce_rp DCQCN's parameters, if that is chosen: OFED has no names for other controllers' parameters.
/// Below roce_np what the NIC tells its peers, except what is ours alone (`per_address`) or has another form
/// there (`enable`, a folder with a file for each priority).
std::vector<ParameterFile> parameter_files(
    const transport::congestion::Choice& choice,
    const transport::congestion::NotificationParameters& notifications);

/// Gives the parameter of the file `name` the value that `text` says: a whole number within the limits of
/// `--cc`, with or without a line feed after it. EINVAL: it is not such a number, and the error says what
/// there is. ENOENT: there is no such file. Nothing is changed then.
Result<void, Error> set_parameter_file(std::string_view name, std::string_view text,
                                       transport::congestion::Choice& choice,
                                       transport::congestion::NotificationParameters& notifications);

}  // namespace urnic::nic
