// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what a program may send by a socket of RDMA netlink.
//
// The input is what is sent. Each answer must be of whole messages and attributes, fit the buffer of a page,
// and be for who asks; a list ends once.
#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tests/unit/netlink/shown_devices.h"
#include "tools/runtime/netlink/answerer.h"

namespace urnic::netlink {
namespace {

constexpr std::uint32_t kPort = 4711;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void check_attributes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    nlattr head{};
    require(bytes.size() >= sizeof head, "attributes are whole");
    std::memcpy(&head, bytes.data(), sizeof head);
    require(head.nla_len >= sizeof head && static_cast<std::size_t>(NLA_ALIGN(head.nla_len)) <= bytes.size(),
            "attributes are inside");
    bytes = bytes.subspan(static_cast<std::size_t>(NLA_ALIGN(head.nla_len)));
  }
}

void check(const Bytes& answer, const Asker& asker) {
  auto rest = std::span<const std::byte>(answer);
  require(!rest.empty(), "an answer has a message");
  while (!rest.empty()) {
    const auto message = Request::take(rest);
    require(message.has_value(), "messages are whole");
    require(message->head.nlmsg_pid == kPort, "an answer is for who asks");
    const bool is_data = message->head.nlmsg_type >= NLMSG_MIN_TYPE;
    if (is_data) check_attributes(message->payload);
    // An error takes the request with it, unless that is not wanted.
    const bool is_short = message->head.nlmsg_type != NLMSG_ERROR || asker.wants_short_acks;
    require(!is_short || answer.size() <= Answerer::kMostAtOnce || rest.size() < answer.size(),
            "an answer fits the buffer of a page");
    if (is_data) require(message->whole.size() <= Answerer::kMostAtOnce, "data fit the buffer of a page");
  }
}

void ask(std::span<const std::byte> sent, const Asker& asker) {
  static ShownDevices& state = *[] {
    auto* const shown = new ShownDevices;
    shown->shown = {device_named("urnic0"), device_named("urnic1")};
    shown->running = {program(100, "urnic0"), program(0, "urnic1"), program(300, "urnic0")};
    for (std::uint32_t i = 0; i < 100; ++i) {
      shown->running[0].snapshot->objects.memory_regions.push_back({.key = i << 8, .length = i});
    }
    return shown;
  }();
  for (const Bytes& answer : Answerer(state, nullptr, 0).answer(sent, asker)) check(answer, asker);
}

}  // namespace
}  // namespace urnic::netlink

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using urnic::netlink::Asker;
  const auto sent = std::as_bytes(std::span(data, size));
  urnic::netlink::ask(sent, Asker{.port = urnic::netlink::kPort, .is_admin = true});
  urnic::netlink::ask(sent,
                      Asker{.port = urnic::netlink::kPort, .wants_text = true, .wants_short_acks = true});
  return 0;
}
