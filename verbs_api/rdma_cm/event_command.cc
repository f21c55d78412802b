// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Events: fetching the next one.
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/dispatcher.h"
#include "verbs_api/rdma_cm/parameters.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::Event;
using nic::rdma_cm::RdmaCm;

/// Whether the response can be written. An event that was fetched cannot be put back.
bool can_respond(const Command& command, std::uint64_t address) {
  std::array<std::byte, sizeof(rdma_ucm_event_resp)> unchanged{};
  const auto bytes = std::span(unchanged).first(std::min(unchanged.size(), command.room));
  return copy_from_program(bytes, address) && copy_to_program(address, bytes);
}

/// kNoEventYet: this part has none.
int get_event_of(const Command& command, ChannelPart& from) {
  const auto wish = command.as<rdma_ucm_get_event>();
  const auto has_event = with_rdma_cm(
      from, [&](RdmaCm&, ChannelPart& part) -> Result<bool, Error> { return !part.events().is_empty(); });
  if (!has_event) return errno_of(has_event);
  if (!has_event.value()) return kNoEventYet;
  if (!can_respond(command, wish.response)) return EFAULT;
  const auto event =
      with_rdma_cm(from, [&](RdmaCm& cm, ChannelPart& part) -> Result<std::optional<Event>, Error> {
        return cm.next_event(part.events());
      });
  if (!event) return errno_of(event);
  if (!event.value()) return kNoEventYet;  // another thread was faster
  return respond(command, wish.response, to_response(*event.value()));
}

}  // namespace

int get_event(const Command& command) {
  for (std::size_t i = 0; i < command.channel.parts().size(); ++i) {
    const int got = get_event_of(command, command.channel.next_part());
    if (got != kNoEventYet) return got;
  }
  return kNoEventYet;
}

}  // namespace urnic::verbs_api::ucm
