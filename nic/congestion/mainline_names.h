// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The names that mainline Linux has for the parameters of congestion control.
#pragma once

#include <string_view>

namespace urnic::nic {

/// What mlx5's driver in mainline Linux calls the file of a ParameterFile's name, in a card's folder
/// cc_params of debugfs (as cited by the congestion facts, A1): "rp_ai_rate" for "ecn/roce_rp/rpg_ai_rate".
/// Unit and meaning are the same. Empty: the driver has no such file.
std::string_view mainline_name(std::string_view ofed_name);

}  // namespace urnic::nic
