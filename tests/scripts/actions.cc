// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tests/scripts/steps.h"
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
  transport::ReceiveQueue* queue = stage.receive_queue(number);
  if (queue == nullptr) return script_error("there is no such receive queue");
  if (!number && stage.endpoint().state() == QpState::kReset) {
    return script_error("nothing can be posted in RESET");
  }
  if (queue->is_full()) return script_error("the receive queue is full");
  const std::uint64_t length = statement.number("length", kDefaultReceiveBytes);
  const Elements elements =
      elements_of(stage, statement.get_or<Places>("into", {Place{.name = "buffers"}}), length);
  if (elements.trouble) return elements.trouble;
  stage.note(statement.text);
  queue->prepare({.wr_id = statement.number("id")}, elements.sges, u32(elements.length));
  queue->publish();
  return drained(stage, statement);
}

std::optional<Trouble> arm_limit(Stage& stage, const Statement& statement) {
  std::optional<std::uint64_t> number;
  if (statement.has("srq")) number = statement.number("srq");
  transport::ReceiveQueue* queue = stage.receive_queue(number);
  if (queue == nullptr) return script_error("there is no such receive queue");
  stage.arm_limit(*queue, u32(statement.subject_as<std::uint64_t>()));
  return std::nullopt;
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
  if (auto wrong = stage.modify(to)) return script_error(*std::move(wrong));
  return drained(stage, statement);
}

std::optional<Trouble> change_region(Stage& stage, const Statement& statement) {
  ScriptMemory::Region* region = stage.memory().region(statement.subject_as<Word>());
  if (region == nullptr) {
    return script_error(fmt::format("there is no memory '{}'", statement.subject_as<Word>()));
  }
  stage.note(statement.text);
  if (statement.verb == Verb::kDeregister) {
    region->is_registered = false;
  } else {
    region->access = statement.get<Access>("rights");
  }
  return std::nullopt;
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
  const PlacedBytes to = bytes_at(stage, place, contents.size());
  if (to.trouble) return to.trouble;
  std::copy(contents.begin(), contents.end(), to.bytes.begin());
  return std::nullopt;
}

}  // namespace

bool is_action(Verb verb) {
  return verb >= Verb::kPost && verb <= Verb::kPass;
}

PlacedBytes bytes_at(Stage& stage, const Place& place, std::size_t length) {
  const auto bytes = stage.memory().bytes(place, length);
  if (!bytes) {
    return {{},
            script_error(fmt::format("there are no {} bytes at {}+{}", length, place.name, place.offset))};
  }
  return {*bytes, std::nullopt};
}

Elements elements_of(Stage& stage, const Places& places, std::uint64_t length) {
  Elements elements;
  for (const Place& place : places) {
    const ScriptMemory::Region* region = stage.memory().region(place.name);
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
  if (auto wrong = stage.drain()) return Trouble{*std::move(wrong)};
  return std::nullopt;
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
      if (auto wrong = stage.pass(statement.subject_as<transport::Duration>())) {
        return Trouble{*std::move(wrong)};
      }
      return std::nullopt;
    default:
      return script_error("not an action");
  }
}

}  // namespace urnic::scripts
