// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/stage.h"

#include <arpa/inet.h>
#include <fmt/core.h>

namespace urnic::scripts {

using transport::Completion;
using transport::CompletionStatus;
using transport::to_integer;

namespace {

constexpr std::size_t kMostLadderLines = 200;

}  // namespace

std::optional<std::string> first_of(const Outputs& outputs) {
  if (!outputs.packets.empty()) {
    const Outputs::Packet& packet = outputs.packets.front();
    const std::string fault = packet.fault.empty() ? "" : " (" + packet.fault + ")";
    return "> " + describe(packet.fields) + fault;
  }
  if (!outputs.send_completions.empty()) return describe(outputs.send_completions.front(), "cqe");
  if (!outputs.receive_completions.empty()) {
    return describe(outputs.receive_completions.front().completion, "rcqe");
  }
  if (!outputs.events.empty()) return "event " + outputs.events.front();
  return std::nullopt;
}

std::string fault_of(const PacketFields& packet, const transport::QpConfig& config) {
  const std::size_t mtu = bytes(config.path_mtu);
  const std::string_view name = packet.name();
  const bool is_last = name.find("_LAST") != name.npos || name.find("_ONLY") != name.npos;
  const bool consumes_receive = name.substr(0, 5) == "SEND_" || name.find("_IMM") != name.npos;
  if (static_cast<unsigned>(packet.service) << 5 != static_cast<unsigned>(config.service)) {
    return "of another service";
  }
  if (packet.pkey != 0xffff) return "P_Key is not 0xffff (fact 14)";
  if (packet.tver != 0) return "TVer is not 0 (fact 14)";
  if (packet.mig != 1) return "MigReq is not 1 (fact 15)";
  if (packet.becn != 0 || packet.fecn != 0) return "marked as congested";
  if (packet.service != WireService::kUd && packet.dst != to_integer(config.remote_qp)) {
    return "to another queue pair";
  }
  if (packet.payload.size() > mtu) return "longer than the path MTU (fact 29)";
  if (fills_the_path(packet) && packet.payload.size() != mtu) return "shorter than the path MTU (fact 29)";
  if (name.find("_LAST") != name.npos && packet.payload.empty()) {
    return "a last packet without payload (fact 29)";
  }
  if (packet.se != 0 && !(is_last && consumes_receive)) {
    return "solicited where nothing is received (fact 17)";
  }
  return {};
}

void Stage::add_to_ladder(transport::Duration since_start, std::string_view text) {
  const auto microseconds = static_cast<double>(since_start.count()) / 1000;
  ladder_.push_back(fmt::format("{:>14} us  {}", fmt::format("{:.3f}", microseconds), text));
  if (ladder_.size() > kMostLadderLines) ladder_.pop_front();
}

std::string describe(const Completion& completion, std::string_view word) {
  std::string text = fmt::format("{} id={} status={}", word, completion.wr_id, name_of(completion.status));
  if (completion.status != CompletionStatus::kSuccess) return text;
  text += fmt::format(" opcode={} len={}", name_of(completion.opcode), completion.byte_length);
  if (completion.has_immediate) text += fmt::format(" imm={:#x}", ntohl(completion.immediate));
  if (completion.has_invalidate) text += fmt::format(" inv={:#x}", to_integer(completion.invalidated_rkey));
  if (completion.has_grh) text += " has-grh";
  if (completion.solicited) text += " solicited";
  return text;
}

}  // namespace urnic::scripts
