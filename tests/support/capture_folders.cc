// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/capture_folders.h"

#include <cstdlib>

namespace urnic::test {

std::filesystem::path fixtures() {
  return URNIC_FIXTURES;
}

static std::filesystem::path shared() {
  const char* const from_environment = std::getenv("URNIC_SHARED");
  return from_environment != nullptr ? from_environment : URNIC_SHARED;
}

std::filesystem::path shared_captures() {
  return shared() / "captures";
}

std::filesystem::path fpga_captures() {
  return shared() / "fpga/captures";
}

}  // namespace urnic::test
