// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/console.h"

#include <cstdio>

namespace urnic::tools {

void complain(const std::string& message) {
  std::fprintf(stderr, "urnic: %s\n", message.c_str());
}

}  // namespace urnic::tools
