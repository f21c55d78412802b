// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "transport/enum_names.h"

namespace urnic::scripts {
namespace {

using transport::Access;
using transport::PdId;
using transport::Psn;
using transport::QpNumber;
using transport::wire::Service;

constexpr std::size_t kMostObjects = 16;
constexpr Access kEverything = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic |
                               Access::kFlushGlobal | Access::kFlushPersistent;

Service transports_service(const Word& name) {
  if (name == "uc") return Service::kUc;
  if (name == "ud") return Service::kUd;
  return name == "xrc" ? Service::kXrc : Service::kRc;
}

void set_number(transport::QpConfig& config, std::string_view name, std::uint64_t number) {
  const auto small = static_cast<std::uint8_t>(number);
  const auto wide = static_cast<std::uint32_t>(number);
  if (name == "qp") config.local_qp = QpNumber{wide};
  if (name == "peer") config.remote_qp = QpNumber{wide};
  if (name == "pd") config.pd = PdId{wide};
  if (name == "expect-psn") config.receive_psn = Psn(wide);
  if (name == "send-psn") config.send_psn = Psn(wide);
  if (name == "resources") config.max_responder_resources = small;
  if (name == "reads") config.max_reads_in_flight = small;
  if (name == "timeout") config.ack_timeout = small;
  if (name == "retry") config.retry_count = small;
  if (name == "rnr-retry") config.rnr_retry = small;
  if (name == "rnr-timer") config.min_rnr_timer = small;
  if (name == "qkey") config.qkey = wide;
  if (name == "window-packets") config.window_packets = std::max(wide, 1u);
}

std::optional<Trouble> add_region(Settings& settings, const Statement& statement) {
  const Word& name = statement.subject_as<Word>();
  Settings::Region region{.name = name,
                          .address = statement.number("at"),
                          .size = statement.number("size"),
                          .key = static_cast<std::uint32_t>(statement.number("key")),
                          .rights = statement.get<Access>("rights"),
                          .pd = {}};
  if (statement.has("pd")) region.pd = static_cast<std::uint32_t>(statement.number("pd"));
  std::erase_if(settings.regions, [&](const Settings::Region& other) { return other.name == name; });
  if (settings.regions.size() == kMostObjects) return script_error("too many memory regions");
  settings.regions.push_back(std::move(region));
  return std::nullopt;
}

std::optional<Trouble> add_window(Settings& settings, const Statement& statement) {
  if (settings.windows.size() == kMostObjects) return script_error("too many windows");
  if (statement.number("type") == 0) return script_error("windows are of type 1 or 2");
  settings.windows.push_back({.name = statement.subject_as<Word>(),
                              .key = static_cast<std::uint32_t>(statement.number("key")),
                              .type = static_cast<unsigned>(statement.number("type"))});
  return std::nullopt;
}

std::optional<Trouble> add_xrc_queue(Settings& settings, const Statement& statement) {
  if (settings.config.service != Service::kXrc) return script_error("only XRC has queues by number");
  if (settings.xrc_queues.size() == kMostObjects) return script_error("too many queues");
  Settings::SharedQueue queue{.number = static_cast<std::uint32_t>(statement.subject_as<std::uint64_t>()),
                              .pd = {}};
  if (statement.has("pd")) queue.pd = static_cast<std::uint32_t>(statement.number("pd"));
  settings.xrc_queues.push_back(queue);
  return std::nullopt;
}

}  // namespace

Settings::Settings() {
  config.local_qp = QpNumber{0x11};
  config.remote_qp = QpNumber{0x22};
  config.pd = PdId{7};
  config.access = kEverything;
  config.receive_psn = Psn(100);
  config.send_psn = Psn(200);
  config.max_responder_resources = 4;
  config.max_reads_in_flight = 4;
  config.min_rnr_timer = 12;
  config.qkey = 0x1111;
  regions = {
      {"local", 0x100000, 0x20000, 0x1001, Access::kLocalWrite, {}},
      {"shared", 0x200000, 0x20000, 0x2001, Access::kLocalWrite | Access::kWindowBind | kEverything, {}},
      {"buffers", 0x300000, 0x20000, 0x3001, Access::kLocalWrite, {}},
  };
}

const Settings::Region* Settings::region(const std::string& name) const {
  const auto found =
      std::find_if(regions.begin(), regions.end(), [&](const Region& region) { return region.name == name; });
  return found == regions.end() ? nullptr : &*found;
}

std::byte pattern_at(std::uint64_t address) {
  // Neighbors differ, and so do bytes that are a path MTU apart.
  return static_cast<std::byte>(address * 7 + (address >> 8) * 29 + (address >> 16) * 101);
}

std::optional<Trouble> apply_setting(Settings& settings, const Statement& statement) {
  switch (statement.verb) {
    case Verb::kService:
      settings.config.service = transports_service(statement.subject_as<Word>());
      settings.is_xrc_target = statement.get_or<Word>("role", "target") == "target";
      return std::nullopt;
    case Verb::kSet:
      if (statement.name == "mtu") {
        const Word& text = statement.subject_as<Word>();
        std::uint16_t mtu = 0;
        std::from_chars(text.data(), text.data() + text.size(), mtu);
        settings.config.path_mtu = static_cast<transport::PathMtu>(mtu);
      } else if (statement.name == "ack-delay") {
        settings.config.ack_delay = statement.subject_as<transport::Duration>();
      } else {
        set_number(settings.config, statement.name, statement.subject_as<std::uint64_t>());
      }
      return std::nullopt;
    case Verb::kAccess:
      settings.config.access = statement.subject_as<Access>();
      return std::nullopt;
    case Verb::kMemory:
      return add_region(settings, statement);
    case Verb::kWindow:
      return add_window(settings, statement);
    case Verb::kXrcSrq:
      return add_xrc_queue(settings, statement);
    case Verb::kShareReceives:
      settings.shares_receives = true;
      return std::nullopt;
    case Verb::kStart: {
      settings.start = *transport::find_named<transport::QpState>(statement.subject_as<Word>());
      return std::nullopt;
    }
    default:
      return script_error("not a setting");
  }
}

}  // namespace urnic::scripts
