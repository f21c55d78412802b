// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tools/conformance/player/steps.h"
#include "transport/enum_names.h"

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::Lkey;
using transport::Psn;
using transport::QpState;
using transport::Sge;

using Places = std::vector<Place>;

constexpr std::uint64_t kDefaultReceiveBytes = 4096;

std::optional<Trouble> receive(Stage& stage, const Statement& statement) {
  std::optional<std::uint64_t> number;
  if (statement.has("srq")) number = statement.number("srq");
  const std::uint64_t length = statement.number("length", kDefaultReceiveBytes);
  const Elements elements =
      elements_of(stage, statement.get_or<Places>("into", {Place{.name = "buffers"}}), length);
  if (elements.trouble) return elements.trouble;
  stage.note(statement.text);
  if (auto trouble = stage.receive(number, statement.number("id"), elements.sges)) return trouble;
  return drained(stage, statement);
}

std::optional<Trouble> arm_limit(Stage& stage, const Statement& statement) {
  std::optional<std::uint64_t> number;
  if (statement.has("srq")) number = statement.number("srq");
  return stage.arm_limit(number, u32(statement.subject_as<std::uint64_t>()));
}

std::optional<Trouble> modify(Stage& stage, const Statement& statement) {
  transport::QpConfig& config = stage.config();
  config.notify_when_drained = statement.flag("notify");
  if (statement.has("expect-psn")) config.receive_psn = Psn(u32(statement.number("expect-psn")));
  if (statement.has("send-psn")) config.send_psn = Psn(u32(statement.number("send-psn")));
  const auto set = [&](std::string_view name, std::uint8_t& to) {
    to = static_cast<std::uint8_t>(statement.number(name, to));
  };
  set("resources", config.max_responder_resources);
  set("reads", config.max_reads_in_flight);
  set("timeout", config.ack_timeout);
  set("retry", config.retry_count);
  set("rnr-retry", config.rnr_retry);
  set("rnr-timer", config.min_rnr_timer);
  config.access = statement.get_or<Access>("access", config.access);
  config.qkey = u32(statement.number("qkey", config.qkey));
  const QpState to = *transport::find_named<QpState>(statement.subject_as<Word>());
  stage.note(fmt::format("modify {}", name_of(to)));
  if (auto trouble = stage.modify(to)) return trouble;
  return drained(stage, statement);
}

std::optional<Trouble> change_region(Stage& stage, const Statement& statement) {
  const Word& name = statement.subject_as<Word>();
  if (stage.settings().region(name) == nullptr) {
    return script_error(fmt::format("there is no memory '{}'", name));
  }
  stage.note(statement.text);
  if (statement.verb == Verb::kDeregister) return stage.deregister(name);
  return stage.change_rights(name, statement.get<Access>("rights"));
}

std::optional<Trouble> store(Stage& stage, const Statement& statement) {
  const Place& place = statement.subject_as<Places>().front();
  Octets contents = statement.get_or<Octets>("bytes", {});
  if (statement.has("number")) {
    // As the program's processor keeps a 64-bit number.
    const std::uint64_t number = statement.number("number");
    contents.resize(sizeof number);
    std::memcpy(contents.data(), &number, sizeof number);
  } else if (statement.has("fill")) {
    contents.assign(std::min<std::size_t>(place.length.value_or(1), 1u << 20),
                    static_cast<std::byte>(statement.number("fill")));
  }
  return stage.store(place, contents);
}

}  // namespace

bool is_action(Verb verb) {
  return verb >= Verb::kPost && verb <= Verb::kPass;
}

Elements elements_of(Stage& stage, const Places& places, std::uint64_t length) {
  Elements elements;
  for (const Place& place : places) {
    const Settings::Region* region = stage.settings().region(place.name);
    if (region == nullptr) {
      elements.trouble = script_error(fmt::format("there is no memory '{}'", place.name));
      return elements;
    }
    if (!place.length && places.size() > 1) {
      elements.trouble = script_error("several elements each need a length: local+0:100,local+200:8");
      return elements;
    }
    const std::uint64_t bytes = place.length.value_or(u32(length));
    elements.sges.push_back(
        {.address = region->address + place.offset, .length = u32(bytes), .lkey = Lkey{region->key}});
    elements.length += bytes;
  }
  if (elements.length > transport::kMaxMessageBytes) {
    elements.trouble = script_error("longer than 2^31 bytes, the longest message (fact 29)");
  }
  return elements;
}

std::optional<Trouble> drained(Stage& stage, const Statement& statement) {
  if (statement.flag("burst")) return std::nullopt;
  return stage.drain();
}

std::optional<Trouble> act(Stage& stage, const Statement& statement) {
  switch (statement.verb) {
    case Verb::kPost:
      return post(stage, statement);
    case Verb::kReceive:
      return receive(stage, statement);
    case Verb::kArmLimit:
      return arm_limit(stage, statement);
    case Verb::kModify:
      return modify(stage, statement);
    case Verb::kDeregister:
    case Verb::kChangeRights:
      return change_region(stage, statement);
    case Verb::kStore:
      return store(stage, statement);
    case Verb::kArrives:
      return arrive(stage, statement);
    case Verb::kPass:
      stage.note(statement.text);
      return stage.pass(statement.subject_as<transport::Duration>());
    default:
      return script_error("not an action");
  }
}

}  // namespace urnic::scripts
