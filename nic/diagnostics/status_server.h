// StatusServer: tells other programs of the user what a process' NIC is doing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "nic/host/status_socket.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// Listens at a socket in the user's private folder. A program that connects is sent one document and the end
/// of the stream; what it says is not read. One thread, with all signals blocked, sleeps until a program
/// connects, and serves one after the other. It gives up on each after kPatience, however slowly that one
/// reads. It writes down what the NIC has counted before each document, and now and then without a program
/// that asks. Nothing here is on the path of packets.
class StatusServer {
 public:
  static constexpr int kPatienceMs = 1000;

  struct Source {
    /// Called once for each program that asks. When it throws, that program is sent nothing.
    std::function<std::string()> document;
    /// Called before the document, and every `period_ms`; may be empty.
    std::function<void()> write_down;
    int period_ms = -1;  ///< -1: only when a program asks
  };
  /// Both are called on the thread. The error says why the server cannot listen.
  static Result<std::unique_ptr<StatusServer>, Error> start(Source source);
  static Result<std::unique_ptr<StatusServer>, Error> start(std::function<std::string()> document) {
    return start(Source{.document = std::move(document), .write_down = {}});
  }
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
      : folder_(std::move(folder)), name_(status_socket_name()), source_(std::move(source)) {}

  Result<void, Error> listen();
  Result<void, Error> start_thread();
  void run();
  void write_down() const;
  void serve(int client);
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
