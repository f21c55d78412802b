// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TemporaryFolder: for the files of one command.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace urnic::tools {

/// Goes with all that is in it.
class TemporaryFolder {
 public:
  /// `name` is for people who see it.
  explicit TemporaryFolder(const std::string& name) {
    std::error_code ignored;
    std::string pattern = (std::filesystem::temp_directory_path(ignored) / (name + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Empty if it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace urnic::tools
