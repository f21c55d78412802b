// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/campaign.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "drivers/pcap/pcapng_writer.h"
#include "nic/host/random_bits.h"
#include "tools/conformance/conform/cases/playable.h"
#include "tools/conformance/conform/connections/mad_packet.h"
#include "tools/conformance/conform/packet_judge.h"
#include "tools/conformance/conform/wire/own_qp.h"
#include "tools/conformance/player/connections/runner.h"
#include "tools/conformance/script/connections/dialect.h"
#include "tools/conformance/script/parser.h"

namespace urnic::conform {
namespace {

constexpr const char* kManagersOfHost =
    "with --port host, this host's connection manager answers at the tester's address: try udp:ADDRESS";
constexpr const char* kNoBench = "the bench has gone, or has granted no time for a minute";

CaseResult unknown(const Case& next, std::string reason) {
  CaseResult result;
  result.of = next;
  result.reason = std::move(reason);
  return result;
}

bool reads_counters(const scripts::Script& script) {
  return std::any_of(
      script.statements.begin(), script.statements.end(),
      [](const scripts::Statement& statement) { return statement.verb == scripts::Verb::kCounter; });
}

/// A queue pair that was in RESET may do what breaks rules for one that goes on, and packets do not tell.
bool begins_again(const scripts::Script& script) {
  return std::any_of(
      script.statements.begin(), script.statements.end(), [](const scripts::Statement& statement) {
        return statement.verb == scripts::Verb::kModify && statement.subject_as<scripts::Word>() == "RESET";
      });
}

std::string file_name(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '/', '.');
  return text + ".pcapng";
}

}  // namespace

Campaign::Campaign(Config config, PortWire& wire)
    : config_(std::move(config)),
      wire_(wire),
      agent_(config_.agent, kAgent),
      listener_(config_.listener, kListener),
      next_connection_(static_cast<unsigned>(nic::random_bits())) {}

CaseResult Campaign::run(const Case& next) {
  const bool is_connection = next.kind == Case::Kind::kConnection;
  const auto script = is_connection ? scripts::connections::parse_connection_script(next.text)
                                    : scripts::parse_script(next.text);
  if (!script) return unknown(next, "this script cannot be read: " + script.error().message);
  if (wire_.is_lost()) return unknown(next, kNoBench);
  const transport::Time begin = wire_.now();
  CaseResult result = is_connection ? play_connection(next, script.value()) : play(next, script.value());
  result.took = wire_.now() - begin;
  if (wire_.is_lost()) return unknown(next, kNoBench);
  if (result.verdict == Verdict::kPass && !begins_again(script.value())) {
    if (auto reason = find_broken_rule(wire_.record())) fail_by_rule(result, *std::move(reason));
  }
  if (result.verdict == Verdict::kFail || result.verdict == Verdict::kHabit) keep_capture(result);
  return result;
}

CaseResult Campaign::play(const Case& next, const scripts::Script& script) {
  const auto settings = read_settings(script);
  if (!settings) return unknown(next, settings.error().message);
  if (const auto reason = reason_against(script)) return unknown(next, *reason);
  const auto pace = Pace::plan(script, settings.value());
  if (!pace) return unknown(next, pace.error().message);
  if (const auto error = agent_.find()) return unknown(next, error->message);
  const std::uint32_t own_qp = conform::own_qp(wire_.numbers(), cases_++);
  wire_.begin_case(own_qp);
  Peer peer = config_.peer;
  peer.tester = wire_.own();
  const auto stage = LiveStage::create(settings.value(), pace.value(), peer, own_qp, reads_counters(script),
                                       *agent_.get(), wire_);
  if (!stage) {
    agent_.lose();  // whatever it was, the next case begins with a new connection
    return unknown(next, stage.error().message);
  }
  CaseResult result = judge(next, script, scripts::play(*stage.value(), script, excuse_for(next)));
  // A NIC does not answer when its machine is gone.
  if (const auto lost = result.verdict == Verdict::kPass ? std::nullopt : stage.value()->find_lost_agent()) {
    agent_.lose();
    result.verdict = Verdict::kUnknown;
    result.reason = lost->message;
  }
  return result;
}

CaseResult Campaign::play_connection(const Case& next, const scripts::Script& script) {
  if (wire_.is_in_lock_step()) return unknown(next, "with a bench, no cases about connections are played");
  if (wire_.numbers().bits != 0) return unknown(next, kManagersOfHost);
  if (connections::needs_listener(script) || listener_.was_there()) {
    if (const auto error = listener_.find()) return unknown(next, error->message);
  }
  wire_.begin_case(connections::kManagementQp);
  const auto stage = connections::ConnectionStage::create(
      script, {.peer = config_.address, .tester = wire_.own(), .settle = config_.peer.settle},
      next_connection_++, listener_.get(), wire_);
  if (!stage) {
    listener_.lose();
    return unknown(next, stage.error().message);
  }
  CaseResult result =
      judge(next, script, scripts::connections::play(*stage.value(), script, excuse_for(next)));
  const auto lost = result.verdict == Verdict::kPass ? std::nullopt : stage.value()->find_lost_listener();
  if (lost) {
    listener_.lose();
    result.verdict = Verdict::kUnknown;
    result.reason = lost->message;
  }
  stage.value()->end();
  const auto& record = wire_.record();
  const bool is_silent =
      std::all_of(record.begin(), record.end(), [](const RecordedPacket& each) { return each.is_sent; });
  if (result.verdict == Verdict::kFail && is_silent && !listener_.was_there()) {
    result.verdict = Verdict::kUnknown;
    result.reason = "nothing comes from the peer, and no listener says that its NIC is there";
  }
  return result;
}

void Campaign::keep_capture(CaseResult& result) const {
  if (config_.captures.empty()) return;
  const std::string path = config_.captures + "/" + file_name(result.of.name);
  auto writer = drivers::PcapngWriter::create(path, nic::Medium::kIp,
                                              {.program = fmt::format("urnic {}", URNIC_VERSION),
                                               .interface = "conform",
                                               .description = std::string(result.of.name)});
  if (!writer) return;
  for (const RecordedPacket& packet : wire_.record()) {
    const auto direction =
        packet.is_sent ? drivers::FrameDirection::kSent : drivers::FrameDirection::kReceived;
    writer.value()->add(packet.bytes, packet.wall_time, direction, {});
  }
  result.capture = path;
}

}  // namespace urnic::conform
