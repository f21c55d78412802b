// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "tools/conformance/player/connections/steps.h"
#include "tools/conformance/script/connections/vocabulary.h"
#include "tools/conformance/script/packet_text.h"
#include "tools/conformance/script/vocabulary.h"

namespace urnic::scripts::connections {
namespace {

using transport::Duration;
using transport::wire::Gid;

/// Compares a number, or gives it the name that the script has for it.
std::optional<Trouble> compare(Stage& stage, std::string_view what, const Value& wanted, std::uint64_t is) {
  const Drawn drawn = drawn_number(stage, wanted);
  if (!drawn.number) {
    stage.numbers[drawn.new_name] = is;
    return std::nullopt;
  }
  if (*drawn.number == is) return std::nullopt;
  return Trouble{fmt::format("{} is {}, expected {}", what, readable(is), readable(*drawn.number))};
}

/// Flags of lines are truths, everything else a number.
Value as_number(const Value& value) {
  const bool* const flag = std::get_if<bool>(&value);
  return flag == nullptr ? value : Value(std::uint64_t{*flag});
}

std::optional<Trouble> compare_numbers(Stage& stage, const Statement& statement,
                                       const std::vector<NamedNumber>& numbers) {
  for (const auto& [name, is] : numbers) {
    const Value* const wanted = statement.value(name);
    if (wanted == nullptr) continue;
    if (auto trouble = compare(stage, name, as_number(*wanted), is)) return trouble;
  }
  return std::nullopt;
}

/// What is not named in a program's private data is zero.
std::optional<Trouble> compare_private(const Statement& statement, std::span<const std::byte> is) {
  if (!has_private(statement)) return std::nullopt;
  Octets wanted = private_octets(statement);
  if (wanted.size() > is.size()) {
    return Trouble{
        fmt::format("there is room for {} bytes of private data, not for {}", is.size(), wanted.size())};
  }
  wanted.resize(is.size());
  const auto [at, other] = std::mismatch(is.begin(), is.end(), wanted.begin());
  if (at == is.end()) return std::nullopt;
  return Trouble{fmt::format("private data differ from byte {} on: {:02x}, expected {:02x}", at - is.begin(),
                             std::to_integer<unsigned>(*at), std::to_integer<unsigned>(*other))};
}

// --- Messages ---

/// What holds of every message, whether the script says it or not.
std::optional<Trouble> compare_always(const Stage& stage, const Statement& statement, const Sent& sent) {
  const Mad& mad = sent.mad;
  if (!sent.fault.empty()) return Trouble{sent.fault};
  if (auto fault = mad.fault(); !fault.empty()) return Trouble{fault};
  if (sent.source != stage.gid_of(Host::kOurs)) {
    return Trouble{"it does not leave from the address that is ours"};
  }
  const Word to = statement.get_or<Word>("to", "peer");
  if (sent.destination != stage.gid_of(static_cast<Host>(index_of(host_names(), to)))) {
    return Trouble{fmt::format("it does not go to the {}", to)};
  }
  for (const auto& [field, values] : sent.known) {
    if (statement.has(field) || values.contains(mad.get(field))) continue;
    return Trouble{fmt::format("{} is {}, which no message before it says", field, readable(mad.get(field)))};
  }
  const auto is_address = [&](std::string_view field, std::span<const std::byte> wanted) {
    const auto is = mad.address(field);
    return is.empty() || std::equal(is.begin(), is.end(), wanted.begin(), wanted.end());
  };
  const Gid own = stage.gid_of(Host::kOurs);
  const Gid peer = stage.gid_of(Host::kPeer);
  const bool has_gids = is_address("local-gid", std::as_bytes(std::span(own.octets))) &&
                        is_address("remote-gid", std::as_bytes(std::span(peer.octets)));
  if (!has_gids) return Trouble{"its GIDs are not ours and the peer's"};
  const bool has_header = is_address("source", stage.header_address_of(Host::kOurs)) &&
                          is_address("destination", stage.header_address_of(Host::kPeer));
  if (!has_header) return Trouble{"the addresses in rdma_cm's header are not ours and the peer's"};
  return std::nullopt;
}

std::optional<Trouble> compare_message(Stage& stage, const Statement& statement, const Sent& sent) {
  const Mad& mad = sent.mad;
  const Word& name = statement.subject_as<Word>();
  if (mad.name() != name) return Trouble{fmt::format("not a {}", name)};
  if (auto trouble = compare_always(stage, statement, sent)) return trouble;
  if (statement.flag("again") && (!stage.taken || !(stage.taken->mad == mad))) {
    return Trouble{"it is not the message that was taken before"};
  }
  for (const Field& field : statement.fields) {
    if (!mad.has(field.name)) continue;
    if (auto trouble = compare(stage, field.name, field.value, mad.get(field.name))) return trouble;
  }
  if (statement.has("port")) {
    const auto port = mad.get("service-id") & 0xffff;
    if (auto trouble = compare(stage, "port", *statement.value("port"), port)) return trouble;
  }
  std::vector<NamedNumber> of_path;
  if (sent.traffic_class) of_path.push_back({"tos", *sent.traffic_class});
  if (sent.service_level) of_path.push_back({"priority", *sent.service_level});
  if (auto trouble = compare_numbers(stage, statement, of_path)) return trouble;
  if (statement.has("after")) {
    const auto wanted = statement.get<Duration>("after");
    const Duration is = stage.taken ? sent.at - stage.taken->at : Duration{};
    if (!stage.is_gap(is, wanted)) {
      return Trouble{
          fmt::format("it comes {} ns after the message before it, expected {}", is.count(), wanted.count())};
    }
  }
  return compare_private(statement, mad.private_data());
}

std::optional<Trouble> expect_messages(Stage& stage, const Statement& statement) {
  const std::uint64_t times = statement.number("times", 1);
  for (std::uint64_t i = 0; i < times; ++i) {
    if (!stage.await_message()) {
      return Trouble{times == 1 ? "no message came" : fmt::format("{} messages came", i)};
    }
    const Sent sent = stage.sent().front();
    if (auto trouble = compare_message(stage, statement, sent)) {
      return Trouble{fmt::format("{}\n  came: {}", trouble->message, sent.mad.describe()), trouble->kind};
    }
    stage.taken = sent;
    stage.sent().pop_front();
  }
  return std::nullopt;
}

// --- Events ---

std::optional<Trouble> compare_status(const Statement& statement, int is) {
  int wanted = static_cast<int>(statement.number("status"));
  for (const NamedError& error : errors()) {
    if (statement.get_or<Word>("error", "") == error.name) wanted = -error.value;
  }
  if (is == wanted) return std::nullopt;
  return Trouble{fmt::format("status is {}, expected {}", is, wanted)};
}

std::optional<Trouble> compare_event(Stage& stage, const Statement& statement, const Event& event) {
  if (event.name != statement.subject_as<Word>()) return Trouble{"another event"};
  const Word name = statement.get_or<Word>("id", kConnection);
  if (event.name == "CONNECT_REQUEST") {
    stage.ids[name] = event.id;
  } else if (const auto id = stage.ids.find(name); id == stage.ids.end() || id->second != event.id) {
    return Trouble{fmt::format("it is not about the id '{}'", name)};
  }
  if (auto trouble = compare_status(statement, event.status)) return trouble;
  const std::vector<NamedNumber>& numbers = event.numbers;
  for (const Field& field : statement.fields) {
    const bool is_known = field.name == "id" || field.name == "status" || field.name == "error" ||
                          field.name == "private" || field.name == "private-size" ||
                          std::any_of(numbers.begin(), numbers.end(),
                                      [&](const NamedNumber& number) { return number.name == field.name; });
    if (!is_known) return Trouble{fmt::format("the event says nothing of '{}'", field.name)};
  }
  if (auto trouble = compare_numbers(stage, statement, numbers)) return trouble;
  return compare_private(statement, event.private_data);
}

std::optional<Trouble> expect_event(Stage& stage, const Statement& statement) {
  const auto event = stage.await_event();
  if (!event) return Trouble{"no event came"};
  stage.note(describe(*event));
  auto trouble = compare_event(stage, statement, *event);
  if (trouble) trouble->message += "\n  came: " + describe(*event);
  return trouble;
}

// --- What is ---

std::optional<Trouble> expect_timer(Stage& stage, const Statement& statement) {
  const auto next = stage.next_timer();
  if (!next) return next.error();
  const auto* const wanted = std::get_if<Duration>(&*statement.subject);
  const std::optional<Duration> is = next.value();
  if (wanted == nullptr) {
    if (!is) return std::nullopt;
    return Trouble{fmt::format("a timer expires in {} ns", is->count())};
  }
  if (!is) return Trouble{"no timer runs"};
  if (*is == *wanted) return std::nullopt;
  return Trouble{fmt::format("the next timer expires in {} ns", is->count())};
}

const std::uint64_t* find_id(const Stage& stage, const Statement& statement) {
  const auto id = stage.ids.find(statement.get_or<Word>("id", kConnection));
  return id == stage.ids.end() ? nullptr : &id->second;
}

std::optional<Trouble> expect_state(Stage& stage, const Statement& statement) {
  const std::uint64_t* const id = find_id(stage, statement);
  if (id == nullptr) return script_error("the program has no such id");
  const auto is = stage.state(*id);
  if (!is) return is.error();
  if (is.value() == statement.subject_as<Word>()) return std::nullopt;
  return Trouble{fmt::format("the state is {}", is.value())};
}

/// With what the program's queue pair is to be changed: rdma_init_qp_attr.
std::optional<Trouble> expect_attributes(Stage& stage, const Statement& statement) {
  const std::uint64_t* const id = find_id(stage, statement);
  if (id == nullptr) return script_error("the program has no such id");
  const auto state = statement.subject_as<Word>() == "RTR" ? transport::QpState::kReadyToReceive
                                                           : transport::QpState::kReadyToSend;
  const auto answer = stage.attributes(*id, state);
  if (!answer) return answer.error();
  return compare_numbers(stage, statement, answer.value());
}

std::optional<Trouble> expect_connections(Stage& stage, const Statement& statement) {
  const auto is = stage.connection_count();
  if (!is) return is.error();
  if (is.value() == statement.subject_as<std::uint64_t>()) return std::nullopt;
  return Trouble{fmt::format("there are {}", is.value())};
}

}  // namespace

Drawn drawn_number(const Stage& stage, const Value& value) {
  const Word* const name = std::get_if<Word>(&value);
  if (name == nullptr) return {.number = std::get<std::uint64_t>(value), .new_name = {}};
  const auto known = stage.numbers.find(*name);
  if (known == stage.numbers.end()) return {.number = std::nullopt, .new_name = *name};
  return {.number = known->second, .new_name = {}};
}

bool has_private(const Statement& statement) {
  return statement.has("private") || statement.has("private-size");
}

Octets private_octets(const Statement& statement) {
  if (statement.has("private")) return statement.get<Octets>("private");
  Octets octets(statement.number("private-size"));
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<std::byte>(i + 1);
  return octets;
}

Word name_of_id(const Statement& statement) {
  return statement.get_or<Word>("id", statement.name == "listen" ? kListener : kConnection);
}

int wanted_error(const Statement& statement) {
  const Word name = statement.get_or<Word>("errno", "");
  for (const NamedError& error : errors()) {
    if (error.name == name) return error.value;
  }
  return 0;
}

std::optional<Trouble> expect(Stage& stage, const Statement& statement) {
  switch (statement.verb) {
    case Verb::kLeaves:
      return expect_messages(stage, statement);
    case Verb::kEvent:
      return expect_event(stage, statement);
    case Verb::kTimeout:
      return expect_timer(stage, statement);
    case Verb::kState:
      return expect_state(stage, statement);
    case Verb::kAttributes:
      return expect_attributes(stage, statement);
    case Verb::kConnections:
      return expect_connections(stage, statement);
    case Verb::kSilence:
      // Where time passes next, too: these scripts say so where nothing may come before a time.
      if (auto came = stage.first_unexpected(Stage::Look::kSilence)) return Trouble{"this came: " + *came};
      return std::nullopt;
    default:
      return script_error("not an expectation");
  }
}

}  // namespace urnic::scripts::connections
