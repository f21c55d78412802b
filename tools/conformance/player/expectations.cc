// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tools/conformance/player/steps.h"
#include "tools/conformance/script/vocabulary.h"

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::Completion;
using transport::CompletionStatus;
using transport::Duration;
using Places = std::vector<Place>;

std::optional<Trouble> mismatch(std::string_view what, std::uint64_t wanted, std::uint64_t is) {
  if (wanted == is) return std::nullopt;
  return Trouble{fmt::format("{} is {}, expected {}", what, readable(is), readable(wanted))};
}

std::optional<Trouble> differs(std::string_view what, std::span<const std::byte> wanted,
                               std::span<const std::byte> is) {
  if (wanted.size() != is.size()) {
    return mismatch(fmt::format("length of {}", what), wanted.size(), is.size());
  }
  const auto [at, other] = std::mismatch(is.begin(), is.end(), wanted.begin());
  if (at == is.end()) return std::nullopt;
  return Trouble{fmt::format("{} differs from byte {} on: {:02x}, expected {:02x}", what, at - is.begin(),
                             std::to_integer<unsigned>(*at), std::to_integer<unsigned>(*other))};
}

// --- Packets ---

std::optional<Trouble> compare_payload(Stage& stage, const Statement& statement, const PacketFields& packet,
                                       std::uint64_t index) {
  const std::span<const std::byte> payload(packet.payload);
  if (statement.has("bytes")) return differs("payload", statement.get<Octets>("bytes"), payload);
  if (statement.has("fill")) {
    return differs("payload", Octets(payload.size(), static_cast<std::byte>(statement.number("fill"))),
                   payload);
  }
  if (!statement.has("data")) return std::nullopt;
  // Gathered from several places, or from where the packets before this one of a range left off.
  Octets wanted;
  for (Place place : statement.get<Places>("data")) {
    const std::size_t length = place.length.value_or(static_cast<std::uint32_t>(payload.size()));
    place.offset += index * payload.size();
    const auto source = stage.load(place, length);
    if (!source) return source.error();
    wanted.insert(wanted.end(), source.value().begin(), source.value().end());
  }
  return differs("payload", wanted, payload);
}

std::optional<Trouble> compare_packet(Stage& stage, const Statement& statement, const Outputs::Packet& came,
                                      std::uint64_t index) {
  const PacketFields& packet = came.fields;
  const Word& name = statement.subject_as<Word>();
  if (packet.name() != name) return Trouble{fmt::format("not a {}", name)};
  if (!came.fault.empty()) return Trouble{came.fault};
  if (statement.has("psn")) {
    const auto psn = (statement.get<PsnRange>("psn").first + index) & transport::Psn::kMask;
    if (auto trouble = mismatch("psn", psn, packet.psn)) return trouble;
  }
  for (const Field& field : statement.fields) {
    const auto* wanted = std::get_if<std::uint64_t>(&field.value);
    const auto is = packet_number(packet, field.name);
    if (wanted == nullptr || !is) continue;
    if (auto trouble = mismatch(field.name, *wanted, *is)) return trouble;
  }
  if (statement.has("len")) {
    if (auto trouble = mismatch("len", statement.number("len"), packet.payload.size())) return trouble;
  }
  if (auto trouble = compare_payload(stage, statement, packet, index)) return trouble;
  if (!statement.has("to-ah")) return std::nullopt;
  if (!stage.knows_address_handles()) return unavailable("all address handles lead to the tester");
  return mismatch("to-ah", statement.number("to-ah"), came.address_handle);
}

std::optional<Trouble> expect_packets(Stage& stage, const Statement& statement) {
  const auto psns = statement.get_or<PsnRange>("psn", {});
  for (std::uint32_t i = 0; i < psns.count; ++i) {
    WantedPacket wanted{.name = statement.subject_as<Word>(), .psn = {}};
    if (statement.has("psn")) wanted.psn = (psns.first + i) & transport::Psn::kMask;
    const Stage::Awaited awaited = stage.await_packet(wanted);
    if (awaited == Stage::Awaited::kCovered) continue;
    if (awaited == Stage::Awaited::kNothing) return Trouble{"no packet came"};
    auto& packets = stage.outputs().packets;
    const Outputs::Packet came = std::move(packets.front());
    packets.pop_front();
    if (auto trouble = compare_packet(stage, statement, came, i)) {
      trouble->message += "\n  came: " + describe(came.fields);
      return trouble;
    }
  }
  return std::nullopt;
}

// --- Completions, events ---

std::optional<Trouble> compare_completion(const Stage& stage, const Statement& statement,
                                          const Completion& is) {
  if (auto trouble = mismatch("id", statement.number("id"), is.wr_id)) return trouble;
  const Word status = statement.get_or<Word>("status", "SUCCESS");
  const std::string_view came = name_of(is.status);
  if (!is_among(came, status)) return Trouble{fmt::format("status is {}, expected {}", came, status)};
  if (is.status != CompletionStatus::kSuccess) return std::nullopt;
  if (statement.has("opcode")) {
    const std::string_view opcode = name_of(is.opcode);
    if (statement.get<Word>("opcode") != opcode) return Trouble{fmt::format("opcode is {}", opcode)};
  }
  struct Number {
    std::string_view field;
    std::uint64_t is;
  };
  const Number numbers[] = {{"len", is.byte_length}, {"src", to_integer(is.source_qp)}};
  for (const Number& number : numbers) {
    if (!statement.has(number.field)) continue;
    if (auto trouble = mismatch(number.field, statement.number(number.field), number.is)) return trouble;
  }
  // An immediate that is not named must not be there.
  if (auto trouble = mismatch("has-imm", statement.has("imm"), is.has_immediate)) return trouble;
  if (auto trouble = mismatch("has-inv", statement.has("inv"), is.has_invalidate)) return trouble;
  if (statement.has("imm")) {
    if (auto trouble = mismatch("imm", statement.number("imm"), ntohl(is.immediate))) return trouble;
  }
  if (statement.has("inv")) {
    if (auto trouble = mismatch("inv", statement.number("inv"), to_integer(is.invalidated_rkey))) {
      return trouble;
    }
  }
  if (statement.has("has-grh")) {
    if (auto trouble = mismatch("has-grh", statement.flag("has-grh"), is.has_grh)) return trouble;
  }
  if (!statement.has("solicited")) return std::nullopt;
  if (!stage.knows_solicited()) return unavailable("a completion does not say whether it was solicited");
  return mismatch("solicited", statement.flag("solicited"), is.solicited);
}

std::optional<Trouble> expect_send_completion(Stage& stage, const Statement& statement) {
  if (stage.await_send_completion() == Stage::Awaited::kNothing) {
    return Trouble{"no completion of a send came"};
  }
  auto& completions = stage.outputs().send_completions;
  const Completion came = completions.front();
  completions.pop_front();
  auto trouble = compare_completion(stage, statement, came);
  if (trouble) trouble->message += "\n  came: " + describe(came, "cqe");
  return trouble;
}

std::optional<Trouble> expect_receive_completion(Stage& stage, const Statement& statement) {
  if (stage.await_receive_completion() == Stage::Awaited::kNothing) {
    return Trouble{"no completion of a receive came"};
  }
  auto& completions = stage.outputs().receive_completions;
  const Outputs::Received came = completions.front();
  completions.pop_front();
  auto trouble = compare_completion(stage, statement, came.completion);
  if (!trouble && statement.has("srq")) {
    trouble = mismatch("srq", statement.number("srq"), came.srq.value_or(0));
  }
  if (trouble) trouble->message += "\n  came: " + describe(came.completion, "rcqe");
  return trouble;
}

std::optional<Trouble> expect_event(Stage& stage, const Statement& statement) {
  if (stage.await_event() == Stage::Awaited::kNothing) return Trouble{"no event came"};
  auto& events = stage.outputs().events;
  const std::string came = std::move(events.front());
  events.pop_front();
  if (is_among(came, statement.subject_as<Word>())) return std::nullopt;
  return Trouble{"another event came: " + came};
}

std::optional<Trouble> expect_flush(Stage& stage, const Statement& statement) {
  if (stage.flushes() == nullptr) return unavailable("nothing tells what was flushed");
  auto& flushes = *stage.flushes();
  if (flushes.empty()) return Trouble{"nothing was flushed"};
  const FlushRecord came = flushes.front();
  flushes.erase(flushes.begin());
  const Place& place = statement.subject_as<Places>().front();
  const Settings::Region* region = stage.settings().region(place.name);
  if (region == nullptr) return script_error(fmt::format("there is no memory '{}'", place.name));
  const bool is_whole = came.scope == transport::FlushScope::kRegion;
  if (auto trouble = mismatch("key", region->key, came.key)) return trouble;
  if (statement.get_or<Word>("scope", "range") != (is_whole ? "region" : "range")) {
    return Trouble{"the scope is another"};
  }
  if (statement.has("rights") && statement.get<Access>("rights") != came.access) {
    return Trouble{"the rights are others"};
  }
  if (is_whole) return std::nullopt;
  if (auto trouble = mismatch("address", region->address + place.offset, came.address)) return trouble;
  if (place.length) return mismatch("length", *place.length, came.length);
  return std::nullopt;
}

// --- Questions ---

std::optional<Trouble> expect_timer(Stage& stage, const Statement& statement) {
  const auto left = stage.next_timer();
  if (!left) return left.error();
  if (std::holds_alternative<bool>(*statement.subject)) {
    if (!left.value()) return std::nullopt;
    return Trouble{fmt::format("a timer runs: {} ns", left.value()->count())};
  }
  if (!left.value()) return Trouble{"no timer runs"};
  const Duration wanted = statement.subject_as<Duration>();
  if (*left.value() == wanted) return std::nullopt;
  return Trouble{
      fmt::format("the next timer expires in {} ns, expected {} ns", left.value()->count(), wanted.count())};
}

std::optional<Trouble> expect_psns(Stage& stage, const Statement& statement) {
  const auto are = stage.psns();
  if (!are) return are.error();
  if (statement.has("send")) {
    if (auto trouble = mismatch("send", statement.number("send"), are.value().send)) return trouble;
  }
  if (!statement.has("receive")) return std::nullopt;
  return mismatch("receive", statement.number("receive"), are.value().receive);
}

std::optional<Trouble> expect_counters(Stage& stage, const Statement& statement) {
  for (const Field& field : statement.fields) {
    const auto counter = *transport::find_named<transport::Counter>(field.name);  // the parser knows it
    const auto expected = std::get<std::uint64_t>(field.value);
    const auto is = stage.counter(counter, expected);
    if (!is) return is.error();
    if (auto trouble = mismatch(field.name, expected, is.value())) return trouble;
  }
  return std::nullopt;
}

/// What the peer sent in packets of a path MTU each, from `psn` on.
Octets peer_stream(std::uint32_t psn, std::size_t length, std::size_t mtu) {
  Octets bytes(length);
  for (std::size_t i = 0; i < length; ++i) {
    bytes[i] = peer_byte((psn + static_cast<std::uint32_t>(i / mtu)) & transport::Psn::kMask, i % mtu);
  }
  return bytes;
}

/// The 40 bytes in front of a datagram: IPv6's header, or zeros and IPv4's (fact 42).
std::optional<Trouble> expect_grh(Stage& stage, const Statement& statement, const Place& place) {
  const auto header = network_header(statement.get<Word>("grh"));
  const std::size_t unused = 40 - header.size();
  const auto is = stage.load({.name = place.name, .offset = place.offset + unused}, header.size());
  if (!is) return is.error();
  const auto wanted = stage.expected_header(header, is.value());
  if (!wanted) return wanted.error();
  return differs("GRH area", wanted.value(), is.value());
}

std::optional<Trouble> check_memory(Stage& stage, const Statement& statement) {
  const Place& place = statement.subject_as<Places>().front();
  if (statement.has("grh")) return expect_grh(stage, statement, place);
  const Octets given = statement.get_or<Octets>("bytes", {});
  const std::size_t usual = statement.has("number") ? 8 : given.size();
  const std::size_t length = place.length.value_or(static_cast<std::uint32_t>(usual));
  if (length == 0) return script_error("'check' needs a length: shared+0:100");
  const auto loaded = stage.load(place, length);
  if (!loaded) return loaded.error();
  const Octets& is = loaded.value();

  Octets wanted(length);
  if (statement.has("number")) {
    std::uint64_t number = 0;
    if (length != sizeof number) return script_error("a number has 8 bytes");
    std::memcpy(&number, is.data(), sizeof number);
    return mismatch("number", statement.number("number"), number);
  }
  if (statement.has("bytes")) {
    wanted = given;
  } else if (statement.has("fill")) {
    std::fill(wanted.begin(), wanted.end(), static_cast<std::byte>(statement.number("fill")));
  } else if (statement.has("psn")) {
    wanted = peer_stream(statement.get<PsnRange>("psn").first, length, bytes(stage.config().path_mtu));
  } else if (statement.has("equals")) {
    const auto& places = statement.get<Places>("equals");
    if (places.size() != 1) return script_error("'equals' names one place");
    const auto other = stage.load(places.front(), length);
    if (!other) return other.error();
    wanted = other.value();
  } else if (statement.flag("untouched")) {
    const std::uint64_t address = stage.settings().region(place.name)->address + place.offset;
    for (std::size_t i = 0; i < length; ++i) wanted[i] = pattern_at(address + i);
  } else {
    return script_error(
        "'check' needs what is to be there: untouched, number=, fill=, bytes=, psn= or equals=");
  }
  return differs("memory", wanted, is);
}

}  // namespace

std::optional<Trouble> expect(Stage& stage, const Statement& statement, Stage::Look look) {
  switch (statement.verb) {
    case Verb::kLeaves:
      return expect_packets(stage, statement);
    case Verb::kSendCompletion:
      return expect_send_completion(stage, statement);
    case Verb::kReceiveCompletion:
      return expect_receive_completion(stage, statement);
    case Verb::kEvent:
      return expect_event(stage, statement);
    case Verb::kFlushed:
      return expect_flush(stage, statement);
    case Verb::kTimeout:
      return expect_timer(stage, statement);
    case Verb::kPsns:
      return expect_psns(stage, statement);
    case Verb::kCounter:
      return expect_counters(stage, statement);
    case Verb::kCheck:
      return check_memory(stage, statement);
    case Verb::kSilence:
      if (auto came = stage.first_unexpected(look)) return Trouble{"this came: " + *came};
      return std::nullopt;
    case Verb::kState: {
      const auto state = stage.state();
      if (!state) return state.error();
      const std::string_view is = name_of(state.value());
      if (is == statement.subject_as<Word>()) return std::nullopt;
      return Trouble{fmt::format("the state is {}", is)};
    }
    default:
      return script_error("not an expectation");
  }
}

}  // namespace urnic::scripts
