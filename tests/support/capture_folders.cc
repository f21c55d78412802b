#include "tests/support/capture_folders.h"

#include <cstdlib>

namespace urnic::test {

std::filesystem::path fixtures() {
  return URNIC_FIXTURES;
}

std::filesystem::path shared_captures() {
  const char* const from_environment = std::getenv("URNIC_SHARED");
  return std::filesystem::path(from_environment != nullptr ? from_environment : URNIC_SHARED) / "captures";
}

}  // namespace urnic::test
