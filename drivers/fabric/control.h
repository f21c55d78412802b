// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The control socket of a switch: short requests to it, each with an answer.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "drivers/descriptor.h"
#include "nic/host/fabric_folder.h"
#include "transport/result.h"

namespace urnic::drivers {

// A connection carries one request and one answer, a message each (SOCK_SEQPACKET). Requests are words:
//
//   port SLOT MTU   have a port for the NIC in that slot, whose IP packets have at most MTU bytes; the answer
//   is kSwitchedPort
//                   where all its frames have to come to the switch, and otherwise nothing. A descriptor may come with it: a file
//                   of last words (nic/host/last_words_table.h), which the switch sends when the process has ended
//   trunk NUMBER    have a port for the switch with that number; the answer is the MTU that it has to have
//   status          tell about the switch and its ports, as JSON
//   network FIRST   tell about the ports of its network, some from number FIRST on, as JSON
//   stop            end
//
// An answer is "ok", a space and the requested text, or "error", a space and a line for a person. Only
// processes of the same user, or root's, may ask, and are asked.

inline constexpr std::string_view kSwitchedPort = "switched";

/// Asks the switch that the files belong to, and sends a copy of the descriptor with the request, if it is
/// one. Returns what the switch says after "ok". Waits ten seconds at most. ENOENT: the switch does not run.
/// Otherwise the switch's own words (EIO), or the system's.
Result<std::string, Error> ask_switch(const nic::SwitchFiles& files, std::string_view request,
                                      int descriptor = -1);

/// Whether a switch takes requests there now; says nothing to it.
bool takes_requests(const nic::SwitchFiles& files);

/// The switch's side. A client has a second to ask, and another to take the answer.
class ControlSocket {
 public:
  /// Replaces the socket of a switch that has ended. The caller holds the lock of the switch.
  static Result<ControlSocket, Error> open(const nic::SwitchFiles& files);

  /// Readable when a client wants to ask.
  int fd() const { return listener_.get(); }

  /// A request that was received, and the way back.
  class Request {
   public:
    Request(std::string text, Descriptor passed, Descriptor connection)
        : text_(std::move(text)), passed_(std::move(passed)), connection_(std::move(connection)) {}
    const std::string& text() const { return text_; }
    /// That came with it; none where none did.
    Descriptor take_descriptor() { return std::move(passed_); }
    /// Of the client; 0 where it cannot be known.
    pid_t process() const;
    void answer(std::string_view what) const;
    void refuse(std::string_view why) const;

   private:
    void send(std::string_view word, std::string_view text) const;
    std::string text_;
    Descriptor passed_;
    Descriptor connection_;
  };

  /// The next request; nothing when the client says nothing, or too much.
  std::optional<Request> receive() const;

 private:
  explicit ControlSocket(Descriptor listener) : listener_(std::move(listener)) {}
  Descriptor listener_;
};

}  // namespace urnic::drivers
