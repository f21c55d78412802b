// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A process environment of a test's own: a runtime folder to put leases into, and no URNIC_* variables.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbs_api/config/environment.h"

namespace urnic::tools {

/// Of a process with one device.
inline Result<verbs_api::NicEnvironment, Error> read_first_environment() {
  auto all = verbs_api::read_environments();
  if (!all) return all.error();
  return std::move(all.value().front());
}

class TemporaryEnvironment : public ::testing::Test {
 protected:
  TemporaryEnvironment() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text(*variable);
      if (text.starts_with("URNIC_")) names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) unsetenv(name.c_str());
  }
  ~TemporaryEnvironment() override { std::filesystem::remove_all(folder_); }

  const std::string& folder() const { return folder_; }
  /// Has the fabric a network that is known, and not drawn.
  void choose_network(const std::string& fabric, const std::string& network) const {
    const std::string fabric_folder = folder_ + "/urnic/fabric-" + fabric;
    std::filesystem::create_directories(fabric_folder);
    std::filesystem::permissions(folder_ + "/urnic", std::filesystem::perms::owner_all);
    std::ofstream(fabric_folder + "/network") << network << '\n';
  }

 private:
  std::string folder_;
};

}  // namespace urnic::tools
