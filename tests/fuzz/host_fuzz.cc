// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what a host's switch makes of packets that are for no process, and of what its members ask.
//
// The input is a sequence of steps, each with a byte that says what it is and a byte that says how much or
// who:
//   0  an IP packet comes: twice so many bytes, that follow
//   1  the same, with the right ICRC
//   2  a member, of slot 1 to 4, asks about ports: the bytes of a HostRequest from `kind` on follow
//   3  a member ends
//   4  so many times 10 ms pass
// What must hold: a packet goes to a member as it came; only to one that listens where it leads, unless it is
// refused; what is kept back is given away or refused in time; who has ended has no port.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "drivers/host/connection_requests.h"
#include "drivers/host/host_ports.h"
#include "drivers/host/message.h"
#include "drivers/host/port_requests.h"
#include "drivers/udp/packet_share.h"
#include "transport/wire/frame.h"

namespace urnic::drivers {
namespace {

using Time = ConnectionRequests::Time;
using Bytes = std::vector<std::byte>;
namespace wire = transport::wire;

constexpr unsigned kMembers = 4;
constexpr std::size_t kRequestBytes = sizeof(HostRequest) - offsetof(HostRequest, kind);

enum class Step : std::uint8_t { kPacket, kIntactPacket, kRequest, kEnd, kPass };
constexpr unsigned kSteps = 5;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

class Rig final : ConnectionRequests::Members {
 public:
  void run(std::span<const std::byte> input) {
    while (input.size() >= 2) {
      const auto step = std::to_integer<unsigned>(input[0]) % kSteps;
      const auto number = std::to_integer<unsigned>(input[1]);
      input = input.subspan(2);
      play(static_cast<Step>(step), number, input);
    }
    for (unsigned slot = 1; slot <= kMembers; ++slot) end(slot);
    pass(EarlyRequests::kPatience);
    require(!requests_.next_timeout(), "nothing is kept without end");
  }

 private:
  void play(Step step, unsigned number, std::span<const std::byte>& input) {
    switch (step) {
      case Step::kPacket:
      case Step::kIntactPacket: {
        Bytes packet = take(input, std::size_t{2} * number);
        if (step == Step::kIntactPacket) make_intact(packet);
        return receive(packet);
      }
      case Step::kRequest:
        return ask(1 + number % kMembers, take(input, kRequestBytes));
      case Step::kEnd:
        return end(1 + number % kMembers);
      case Step::kPass:
        return pass(number * std::chrono::milliseconds(10));
    }
  }

  static Bytes take(std::span<const std::byte>& input, std::size_t bytes) {
    const auto taken = input.first(std::min(bytes, input.size()));
    input = input.subspan(taken.size());
    return {taken.begin(), taken.end()};
  }

  static void make_intact(Bytes& packet) {
    wire::Frame frame;
    if (frame.read_ip_packet(packet)) return;
    const std::uint32_t icrc = frame.expected_icrc();
    // The ICRC follows the transport packet, least significant byte first.
    const std::size_t at = static_cast<std::size_t>(frame.ib.data() - packet.data()) + frame.ib.size();
    for (std::size_t i = 0; i < sizeof icrc; ++i) packet[at + i] = static_cast<std::byte>(icrc >> 8 * i);
  }

  void receive(const Bytes& packet) {
    if (share_of_packet(packet).value_or(0) != 0) return;
    came_.push_back(packet);
    requests_.on_packet(packet, now_);
  }

  void ask(unsigned slot, const Bytes& bytes) {
    HostRequest request;
    std::ranges::copy(bytes, reinterpret_cast<std::byte*>(&request) + offsetof(HostRequest, kind));
    const HostAnswer answer = change_ports(ports_, slot, request);
    require(answer.error >= 0 && answer.error < 200, "an error is one of errno");
    const bool has_bound = request.kind == HostRequestKind::kBind && answer.error == 0;
    require(!has_bound || answer.port != 0, "who has bound has a port");
    require(!has_bound || request.port == 0 || answer.port == request.port, "it is the wanted one");
    if (request.kind == HostRequestKind::kListen && answer.error == 0) requests_.on_listen(now_);
  }

  void end(unsigned slot) {
    ports_.release_all(slot);
    requests_.on_leave(slot);
    require(ports_.held_by(slot).empty(), "who has ended has no port");
  }

  void pass(std::chrono::nanoseconds time) {
    now_ += std::chrono::duration_cast<Time::duration>(time);
    requests_.on_timeout(now_);
    const auto next = requests_.next_timeout();
    require(!next || *next > now_, "what is due is done");
  }

  // --- Members ---

  std::optional<unsigned> listener_of(const RequestedService& service) const override {
    const auto slot = ports_.listener_at(service.space, service.destination);
    if (!slot) return slot;
    const auto held = ports_.held_by(*slot);
    const bool listens = std::ranges::any_of(held, [&](const HostPorts::Held& each) {
      return each.space == service.space && each.binding.is_listening &&
             each.binding.address.port == service.destination.port;
    });
    require(listens, "who is given a request listens at its port");
    return slot;
  }
  std::optional<unsigned> refuser() const override { return 1; }
  bool hand_over(unsigned slot, std::span<const std::byte> packet) override {
    require(slot >= 1 && slot <= kMembers, "there is such a member");
    const auto is_this = [packet](const Bytes& each) { return std::ranges::equal(each, packet); };
    require(std::ranges::any_of(came_, is_this), "a packet is handed over as it came");
    return true;
  }

  Time now_{};
  HostPorts ports_{1};
  ConnectionRequests requests_{*this};
  std::vector<Bytes> came_;
};

}  // namespace
}  // namespace urnic::drivers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::drivers::Rig rig;
  rig.run(std::as_bytes(std::span(data, size)));
  return 0;
}
