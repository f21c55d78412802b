// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// StatusServer: tells other programs of the user what a NIC of the process is doing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "nic/host/status_socket.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// Listens at a socket in the user's private folder. A program that connects may send a request, and ends
/// what it sends; then it gets an answer, and the end of the stream. The empty request is for what the NIC
/// does. One thread, with all signals blocked, sleeps until a program connects, and serves one after the
/// other. It gives up on each after kPatience, however slowly that one reads. Nothing here is on the path of
/// packets. It writes down what the NIC has counted before each answer, and now and then without a program
/// that asks.
class StatusServer {
 public:
  static constexpr int kPatienceMs = 1000;
  /// A longer one is none: who sends it gets no answer.
  static constexpr std::size_t kMaxRequestBytes = 256;

  struct Source {
    /// Called once for each program that asks. When it throws, that program is sent nothing.
    std::function<std::string(std::string_view request)> answer;
    /// Called before the answer, and every `period_ms`; may be empty.
    std::function<void()> write_down{};
    int period_ms = -1;   ///< -1: only when a program asks
    unsigned device = 0;  ///< the number of the process' device
  };

  /// Both are called on the thread. The error says why the server cannot listen.
  static Result<std::unique_ptr<StatusServer>, Error> start(Source source);
  /// Ends the thread, at once even while it serves, and removes the socket.
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  /// In the child of a fork: the socket and the thread are the parent's.
  static void abandon_after_fork(std::unique_ptr<StatusServer> server) {
    static_cast<void>(server.release());
  }

 private:
  StatusServer(StatusFolder folder, Source source)
      : folder_(std::move(folder)),
        name_(StatusName::own(source.device).to_string()),
        source_(std::move(source)) {}

  Result<void, Error> listen();
  Result<void, Error> start_thread();
  void run();
  void write_down() const;
  void serve(int client);
  std::optional<std::string> read_request(int client) const;
  void send_all(int client, const std::string& text);
  bool wait_for(int fd, short events, int at_most_ms) const;

  StatusFolder folder_;
  std::string name_;
  Source source_;
  Descriptor listener_;
  Descriptor stop_;  // an eventfd
  bool is_published_ = false;
  std::thread thread_;
};

}  // namespace urnic::nic
