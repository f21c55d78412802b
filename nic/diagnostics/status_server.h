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
/// reads. Nothing here is on the path of packets.
class StatusServer {
 public:
  static constexpr int kPatienceMs = 1000;

  /// `document` is called on the thread, once for each program that asks. When it throws, that program is
  /// sent nothing. The error says why the server cannot listen.
  static Result<std::unique_ptr<StatusServer>, Error> start(std::function<std::string()> document);
  /// Ends the thread, at once even while it serves, and removes the socket.
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  /// In the child of a fork: the socket and the thread are the parent's.
  static void abandon_after_fork(std::unique_ptr<StatusServer> server) {
    static_cast<void>(server.release());
  }

 private:
  StatusServer(StatusFolder folder, std::function<std::string()> document)
      : folder_(std::move(folder)), name_(status_socket_name()), document_(std::move(document)) {}

  Result<void, Error> listen();
  Result<void, Error> start_thread();
  void run();
  void serve(int client);
  void send_all(int client, const std::string& text);
  bool wait_for(int fd, short events, int at_most_ms) const;

  StatusFolder folder_;
  std::string name_;
  std::function<std::string()> document_;
  Descriptor listener_;
  Descriptor stop_;  // an eventfd
  bool is_published_ = false;
  std::thread thread_;
};

}  // namespace urnic::nic
