// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/recovery_text.h"

#include <string>

namespace urnic::nic {

using transport::Recovery;

Result<Recovery, Error> parse_recovery(std::string_view text) {
  for (const Recovery recovery : {Recovery::kGoBackN, Recovery::kSelectiveRepeat}) {
    if (text == name_of(recovery)) return recovery;
  }
  return Error{.message = "there are go-back-n and selective-repeat, not '" + std::string(text) + "'"};
}

std::string_view name_of(Recovery recovery) {
  return recovery == Recovery::kSelectiveRepeat ? "selective-repeat" : "go-back-n";
}

}  // namespace urnic::nic
