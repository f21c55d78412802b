// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/campaign.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "drivers/pcap/pcapng_writer.h"
#include "tools/conformance/conform/cases/playable.h"
#include "tools/conformance/script/parser.h"

namespace urnic::conform {
namespace {

/// Each case has another queue pair, so that what comes late is no part of the next.
constexpr std::uint32_t kFirstQp = 0x4000;
constexpr std::uint32_t kQps = 0x1000;
/// After so many vain tries the remaining cases do not wait for the agent any more.
constexpr unsigned kMostTries = 3;

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

std::string file_name(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '/', '.');
  return text + ".pcapng";
}

}  // namespace

std::optional<AgentError> Campaign::find_agent() {
  if (agent_ != nullptr || gave_up_) return gave_up_;
  auto connected = TcpAgent::connect(config_.agent);
  // The agent may not have noticed yet that its last client, this tester, has gone.
  for (int tries = 0; !connected && connected.error().kind == AgentError::Kind::kBusy && tries < 5; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    connected = TcpAgent::connect(config_.agent);
  }
  if (connected) {
    agent_ = std::move(connected.value());
    failed_in_a_row_ = 0;
    return std::nullopt;
  }
  // What refuses once will do so again.
  const auto kind = connected.error().kind;
  const bool is_final = kind == AgentError::Kind::kRefused || kind == AgentError::Kind::kBusy;
  if (++failed_in_a_row_ == kMostTries || is_final) gave_up_ = connected.error();
  return connected.error();
}

CaseResult Campaign::run(const Case& next) {
  const auto script = scripts::parse_script(next.text);
  if (!script) return unknown(next, "this script cannot be read: " + script.error().message);
  const transport::Time begin = wire_.now();
  CaseResult result = play(next, script.value());
  result.took = wire_.now() - begin;
  if (result.verdict == Verdict::kFail || result.verdict == Verdict::kHabit) keep_capture(result);
  return result;
}

CaseResult Campaign::play(const Case& next, const scripts::Script& script) {
  const auto settings = read_settings(script);
  if (!settings) return unknown(next, settings.error().message);
  if (const auto reason = reason_against(script)) return unknown(next, *reason);
  const auto pace = Pace::plan(script, settings.value());
  if (!pace) return unknown(next, pace.error().message);
  if (const auto error = find_agent()) return unknown(next, error->message);
  const std::uint32_t own_qp = kFirstQp + cases_++ % kQps;
  wire_.begin_case(own_qp);
  Peer peer = config_.peer;
  peer.tester = wire_.own();
  const auto stage =
      LiveStage::create(settings.value(), pace.value(), peer, own_qp, reads_counters(script), *agent_, wire_);
  if (!stage) {
    agent_.reset();  // whatever it was, the next case begins with a new connection
    return unknown(next, stage.error().message);
  }
  CaseResult result = judge(next, script, scripts::play(*stage.value(), script, excuse_for(next)));
  // A NIC does not answer when its machine is gone.
  if (const auto lost = result.verdict == Verdict::kPass ? std::nullopt : stage.value()->find_lost_agent()) {
    agent_.reset();
    result.verdict = Verdict::kUnknown;
    result.reason = lost->message;
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
