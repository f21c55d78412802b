// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SwitchConnection: how a process talks to the switch of its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/host/message.h"
#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Uses system calls in place of the C library's functions, which librspreload replaces. One thread at a
/// time.
class SwitchConnection {
 public:
  /// Connects to the socket of that name. ENOENT: no switch takes requests there.
  static Result<SwitchConnection, Error> connect(const std::string& path);
  /// By the name that is shared, or else by the file.
  static Result<SwitchConnection, Error> connect(const nic::SwitchFiles& files);

  struct Reply {
    HostAnswer answer;  ///< without an error
    std::vector<Descriptor> descriptors;
  };
  /// Sends a request and waits for the answer, at most so long. The error is the answer's, with the system's
  /// text for it; EMFILE or EACCES: this process cannot have the descriptors that came with the answer; or
  /// EIO: the switch does not answer, or has ended (then the connection is over).
  Result<Reply, Error> ask(HostRequest request, std::chrono::milliseconds patience, int descriptor = -1);
  /// Sends a request that has no answer, and a copy of the descriptor, if it is one.
  Result<void, Error> tell(HostRequest request, std::chrono::milliseconds patience, int descriptor = -1);

  /// Hangs up. The switch takes back what it gave.
  void end() {
    socket_.reset();
    is_over_ = true;
  }

  /// Whether the switch was there and has ended, as far as is known.
  bool is_over() const { return is_over_; }
  /// Hung up when the switch has ended. Borrowed.
  int fd() const { return socket_.get(); }
  /// The number of the switch's process.
  int process() const { return process_; }
  /// The name of the socket that it is connected to.
  const std::string& name() const { return name_; }

 private:
  using Clock = std::chrono::steady_clock;

  SwitchConnection(Descriptor socket, int process, std::string name)
      : socket_(std::move(socket)), process_(process), name_(std::move(name)) {}
  bool wait_for(short events, Clock::time_point until) const;
  Error gives_no_answer();

  Descriptor socket_;
  int process_;
  std::string name_;
  bool is_over_ = false;
  std::uint64_t last_number_ = 0;
};

}  // namespace urnic::drivers
