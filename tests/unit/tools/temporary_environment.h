// A process environment of a test's own: a runtime folder to put leases into, and no URNIC_* variables.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace urnic::tools {

class TemporaryEnvironment : public ::testing::Test {
 protected:
  TemporaryEnvironment() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    for (const char* name :
         {"URNIC_IP",       "URNIC_IP6",     "URNIC_MAC",      "URNIC_MTU",      "URNIC_VLAN",
          "URNIC_PORT",     "URNIC_PCAP",    "URNIC_RECORD",   "URNIC_FAULT",    "URNIC_ICRC",
          "URNIC_RECOVERY", "URNIC_SEED",    "URNIC_VERBOSE",  "URNIC_PROGRESS", "URNIC_MW_TYPE_2",
          "URNIC_CPUS",     "URNIC_EXPLAIN", "URNIC_LEASE_FD", "URNIC_CHOSEN",   "URNIC_RUN"}) {
      unsetenv(name);
    }
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
