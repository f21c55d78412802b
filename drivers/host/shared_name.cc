// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/shared_name.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "drivers/host/switch_connection.h"
#include "drivers/unix_address.h"

namespace urnic::drivers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kPause = std::chrono::milliseconds(10);

}  // namespace

Result<Descriptor, Error> claim_shared_name(const nic::SwitchFiles& files) {
  const auto address = UnixAddress::of(files.shared_socket);
  if (files.shared_socket.empty() || !address) return Descriptor();
  const auto give_up = Clock::now() + kPatience;
  for (;;) {
    Descriptor claimed(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (claimed && bind(claimed.get(), address->get(), address->bytes()) == 0) return claimed;
    if (!claimed || errno != EADDRINUSE) return Descriptor();
    const auto other = SwitchConnection::connect(files.shared_socket);
    if (other) {
      return failure(Error{
          .code = EBUSY,
          .message =
              fmt::format("the NIC of the host is served already by process {}; 'urnic host stop' ends it",
                          other.value().process())});
    }
    if (other.error().code == EPERM || Clock::now() > give_up) return Descriptor();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace urnic::drivers
