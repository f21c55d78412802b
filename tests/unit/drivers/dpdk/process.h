// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Processes for tests of the DPDK ports: EAL starts once per process image, so every scenario plays in
// children.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace urnic::drivers {

/// How long a test waits for what should come at once, on however crowded processors.
inline constexpr std::chrono::seconds kPatience{10};

/// A forked child that runs a function of the test. It dies with this object, by its process id.
class Process {
 public:
  /// What a child says to its parent: lines of text. Never returns to GoogleTest; `body` returns what went
  /// wrong, or nothing.
  class Parent {
   public:
    explicit Parent(int fd) : fd_(fd) {}
    void tell(std::string_view line) const;

   private:
    int fd_;
  };
  using Body = std::function<std::string(const Parent&)>;

  /// Call it from a process without threads only.
  explicit Process(const Body& body);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// SIGKILL, and waits for the end.
  void kill();

  /// The next line from the child, or nothing when none comes in time or the child ended.
  std::optional<std::string> next_line(std::chrono::milliseconds patience = kPatience);
  /// Waits for `line`, skipping others; false when it does not come in time.
  bool says(std::string_view line, std::chrono::milliseconds patience = kPatience);
  /// Waits for the child's end and returns what its body returned; or says how else it ended.
  std::string result(std::chrono::milliseconds patience = 4 * kPatience);

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffered_;
};

/// A private folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace urnic::drivers
