// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <array>

#include "tools/conformance/player/steps.h"

namespace urnic::scripts {
namespace {

using transport::Psn;

using Places = std::vector<Place>;

/// va and rkey of a place that the peer reaches for.
std::optional<Trouble> aim(Stage& stage, const Places& places, PacketFields& packet) {
  if (places.size() != 1) return script_error("a request goes to one place");
  const Place& place = places.front();
  if (const Settings::Region* region = stage.settings().region(place.name)) {
    packet.va = region->address + place.offset;
    packet.rkey = region->key;
  } else if (const auto window = stage.window(place.name)) {
    packet.va = window->address + place.offset;
    packet.rkey = window->key;
  } else {
    return script_error(fmt::format("there is no memory or window '{}'", place.name));
  }
  return std::nullopt;
}

std::optional<Trouble> fill_payload(Stage& stage, const Statement& statement, PacketFields& packet) {
  if (!carries_payload(packet)) return std::nullopt;
  const bool is_atomic_write = packet.name() == "ATOMIC_WRITE";
  const std::size_t usual = fills_the_path(packet) ? bytes(stage.config().path_mtu) : is_atomic_write ? 8 : 0;
  packet.payload = statement.get_or<Octets>("bytes", {});
  if (!statement.has("bytes")) {
    packet.payload.resize(statement.number("len", usual));
    const auto psn = u32(statement.number("like-psn", packet.psn));
    for (std::size_t i = 0; i < packet.payload.size(); ++i) {
      packet.payload[i] =
          statement.has("fill") ? static_cast<std::byte>(statement.number("fill")) : peer_byte(psn, i);
    }
  }
  packet.pad = -packet.payload.size() & 3u;
  return std::nullopt;
}

std::optional<Trouble> fill_packet(Stage& stage, const Statement& statement, PacketFields& packet) {
  const transport::QpConfig& config = stage.config();
  packet.dst = to_integer(config.local_qp);
  packet.src = to_integer(config.remote_qp);
  packet.qkey = config.qkey;
  if (!stage.settings().xrc_queues.empty()) packet.srq = stage.settings().xrc_queues.front().number;
  if (auto trouble = fill_payload(stage, statement, packet)) return trouble;
  if (statement.has("to")) {
    if (auto trouble = aim(stage, statement.get<Places>("to"), packet)) return trouble;
  }
  if (packet_number(packet, "dmalen") && !statement.has("dmalen")) {
    if (!carries_payload(packet) || fills_the_path(packet)) {
      return script_error("this packet needs dmalen=...");
    }
    packet.dmalen = packet.payload.size();
  }
  for (const Field& field : statement.fields) {
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
      set_packet_number(packet, field.name, *number);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Trouble> arrive(Stage& stage, const Statement& statement) {
  const auto& psns = statement.get<PsnRange>("psn");
  const auto service = static_cast<WireService>(transport::to_integer(stage.config().service) >> 5);
  const auto named = named_packet(statement.subject_as<Word>(), service);
  if (!named) return script_error("this service has no such packet");
  for (std::uint32_t i = 0; i < psns.count; ++i) {
    PacketFields packet = *named;
    packet.psn = (psns.first + i) & Psn::kMask;
    if (auto trouble = fill_packet(stage, statement, packet)) return trouble;
    const auto header = network_header(statement.get_or<Word>("grh", "ipv4"));
    if (auto trouble = stage.arrive(packet, header)) return trouble;
    if (auto trouble = drained(stage, statement)) return trouble;
  }
  return std::nullopt;
}

std::span<const std::byte> network_header(const Word& ip_version) {
  static constexpr auto kIpv4 = [] {
    std::array<std::byte, 20> header{};
    for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(0x45 + i);
    return header;
  }();
  static constexpr auto kIpv6 = [] {
    std::array<std::byte, 40> header{};
    for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(0x60 + i);
    return header;
  }();
  if (ip_version == "ipv6") return kIpv6;
  return kIpv4;
}

}  // namespace urnic::scripts
