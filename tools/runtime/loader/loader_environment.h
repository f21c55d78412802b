// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The variables that lead the dynamic linker to urnic's libraries.
#pragma once

#include <string>

namespace urnic::tools {

/// Puts `word` before the list, with colons between, that the environment variable holds already.
void put_first(const char* variable, const std::string& word);

/// From now on programs that this process starts, or becomes, load the drop-in in the folder `dropin` as
/// their libibverbs, whatever name they have for it.
void lead_to_dropin(const std::string& dropin);

}  // namespace urnic::tools
