// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A folder that shows devices, as `urnic run` makes one.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace urnic::netlink {

class DeviceFiles {
 public:
  DeviceFiles() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    // Processes are looked for there: there are none.
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~DeviceFiles() { std::filesystem::remove_all(folder_); }
  DeviceFiles(const DeviceFiles&) = delete;
  DeviceFiles& operator=(const DeviceFiles&) = delete;

  const std::string& folder() const { return folder_; }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void add(const std::string& device) const {
    const std::string at = "sys/class/infiniband/" + device + "/";
    write(at + "fw_ver", "0.1.0");
    write(at + "node_guid", "0200:c0ff:fe00:0202");
    write(at + "sys_image_guid", "0200:c0ff:fe00:0203");
    write(at + "ports/1/state", "4: ACTIVE");
    write(at + "ports/1/phys_state", "5: LinkUp");
  }

 private:
  std::string folder_;
};

}  // namespace urnic::netlink
