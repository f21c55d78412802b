// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/conformance/check/ladder.h"
#include "tools/conformance/check/packets/number_text.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check {
namespace {

constexpr std::size_t kShown = 20;  // findings of one rule

std::string duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  return ns < 1e9 ? fmt::format("{:.3f} ms", ns / 1e6) : fmt::format("{:.3f} s", ns / 1e9);
}

std::string rate(double bps) {
  return bps < 1e6   ? fmt::format("{:.1f} kb/s", bps / 1e3)
         : bps < 1e9 ? fmt::format("{:.1f} Mb/s", bps / 1e6)
                     : fmt::format("{:.2f} Gb/s", bps / 1e9);
}

void add_count(std::string& text, std::uint64_t count, const char* what) {
  if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
}

/// Two lines at most about one direction; nothing about one without requests.
std::string summary_of(const char* direction, const ExchangeCounts& counts) {
  if (counts.request_packets == 0) return "";
  std::string messages;
  add_count(messages, counts.sends, "SEND");
  add_count(messages, counts.writes, "WRITE");
  add_count(messages, counts.reads, "READ");
  add_count(messages, counts.atomics, "atomic");
  add_count(messages, counts.others, "FLUSH or ATOMIC WRITE");
  std::string trouble;
  add_count(trouble, counts.repeated_packets, "packets sent again");
  add_count(trouble, counts.missing_psns, "PSNs missing");
  add_count(trouble, counts.late_packets, "of them later");
  add_count(trouble, counts.sequence_naks, "sequence NAK");
  add_count(trouble, counts.selective_naks, "selective NAK");
  add_count(trouble, counts.implied_naks, "implied NAK");
  add_count(trouble, counts.rnr_naks, "RNR NAK");
  for (const auto& [syndrome, count] : counts.fatal_naks) {
    add_count(trouble, count, describe_syndrome(syndrome).c_str());
  }
  std::string text =
      fmt::format("  {} {} in {} packets, {} bytes", direction,
                  messages.empty() ? "no whole message" : messages, counts.request_packets, counts.bytes);
  if (goodput_bps(counts) > 0) text += ", goodput " + rate(goodput_bps(counts));
  if (counts.rtt_samples > 0) {
    text += fmt::format(
        ", answered in {} / {} / {}", duration(static_cast<double>(counts.rtt_min_ns)),
        duration(static_cast<double>(counts.rtt_sum_ns) / static_cast<double>(counts.rtt_samples)),
        duration(static_cast<double>(counts.rtt_max_ns)));
  }
  text += "\n";
  return trouble.empty() ? text : text + "    " + trouble + "\n";
}

std::string end_of(const Connections& connections, const Pair& pair, bool left) {
  const Flow& flow = connections.flows()[pair.forward];
  if (!left) {
    return fmt::format("{} qp {}", to_string(flow.key.destination), qp_text(flow.key.destination_qp));
  }
  const std::string name = connections.name_of_flow(pair.forward);
  return name.substr(0, name.find(" > "));
}

std::string flow_summary(const char* direction, const Flow& flow, std::uint64_t marked) {
  std::string text;
  if (flow.direction) text += summary_of(direction, flow.direction->exchange.counts);
  if (flow.service == Service::kUd) {
    text += fmt::format("  {} {} datagrams, {} bytes\n", direction, flow.packets - flow.cnps,
                        flow.datagram_bytes);
  }
  if (marked > 0) text += fmt::format("  {} {} packets marked by ECN\n", direction, marked);
  if (flow.cnps > 0) text += fmt::format("  {} {} CNP\n", direction, flow.cnps);
  if (flow.copies > 0) text += fmt::format("  {} {} frames delivered twice\n", direction, flow.copies);
  return text;
}

std::string connections_text(const Checker& checker) {
  const Connections& connections = checker.connections();
  const auto marked = [&checker](std::uint32_t flow) { return checker.notifications().marked_in(flow); };
  std::string text;
  for (const Pair& pair : pairs_of(connections)) {
    const Flow& forward = connections.flows()[pair.forward];
    const Flow* const backward = pair.backward ? &connections.flows()[*pair.backward] : nullptr;
    const Service service =
        forward.service != Service::kCnp || backward == nullptr ? forward.service : backward->service;
    std::uint32_t mtu = forward.direction ? forward.direction->exchange.mtu : 0;
    if (backward != nullptr && backward->direction) mtu = std::max(mtu, backward->direction->exchange.mtu);
    text += fmt::format("{} {} {} {}{}\n", to_string(service), end_of(connections, pair, true),
                        backward != nullptr ? "<>" : ">", end_of(connections, pair, false),
                        mtu != 0 ? fmt::format(", path MTU {}", mtu) : "");
    text += flow_summary(">", forward, marked(pair.forward));
    if (backward != nullptr) text += flow_summary("<", *backward, marked(*pair.backward));
  }
  return text;
}

std::string cnp_senders_text(const CnpSpacing& spacing) {
  std::string text;
  for (const CnpSender& sender : spacing.senders()) {
    text += fmt::format("CNPs of {}: {}", to_string(sender.address), sender.cnps);
    if (spacing.has_policy()) text += fmt::format(", {} expected", sender.expected);
    constexpr std::pair<CnpScope, const char*> kScopeWords[] = {{CnpScope::kQueuePair, "one queue pair"},
                                                                {CnpScope::kAddress, "one address"},
                                                                {CnpScope::kPort, "all"}};
    for (const auto& [scope, name] : kScopeWords) {
      const Distances& distances = sender.distances[static_cast<std::size_t>(scope)];
      if (distances.count() == 0) continue;
      text += fmt::format("; to {} {} apart at least, {} typically", name,
                          duration(static_cast<double>(distances.least())),
                          duration(static_cast<double>(distances.typical())));
    }
    text += "\n";
  }
  return text;
}

std::string pauses_text(const Pauses& pauses) {
  std::string text;
  for (const Pauser& pauser : pauses.pausers()) {
    text += fmt::format("pause frames of {}:", to_string(pauser.mac));
    const char* separator = " ";
    for (std::size_t priority = 0; priority < pauser.counts.size(); ++priority) {
      const PauseCounts& counts = pauser.counts[priority];
      if (counts.xoff + counts.xon == 0) continue;
      text += fmt::format("{}{} {} XOFF, {} XON", separator,
                          priority == Pauser::kAll ? "all priorities" : fmt::format("priority {}", priority),
                          counts.xoff, counts.xon);
      if (counts.paused_ns > 0) text += ", paused for " + duration(static_cast<double>(counts.paused_ns));
      separator = "; ";
    }
    text += "\n";
  }
  if (pauses.others() > 0) {
    text += fmt::format("pause frames of others, which are of other links: {}\n", pauses.others());
  }
  return text;
}

/// What came before and after a silence, in words.
std::string words_of(const Silence& silence) {
  const std::string begin = to_string(silence.begin);
  if (silence.kind == SilenceKind::kPause) {
    return fmt::format("nothing from {} to {}{}{}", begin, to_string(*silence.end),
                       silence.is_again ? " again" : "", silence.is_idle ? "; all was answered" : "");
  }
  const std::string sent =
      silence.transmissions > 1 ? fmt::format(", sent {} times", silence.transmissions) : "";
  return silence.end ? fmt::format("{}{}, answered by {}", begin, sent, to_string(*silence.end))
                     : fmt::format("{}{}, not answered when the capture ends", begin, sent);
}

std::string silences_text(const Connections& connections) {
  const std::vector<Silence>& longest = connections.silences().longest();
  if (longest.empty()) return "";
  std::string text = "longest silences\n";
  for (const Silence& silence : longest) {
    const std::string end = silence.end ? std::to_string(silence.end->frame) : "end";
    text += fmt::format("  {:>10}  frame {:<13}  {}: {}\n", duration(static_cast<double>(silence.ns)),
                        fmt::format("{} > {}", silence.begin.frame, end),
                        connections.name_of_flow(silence.flow), words_of(silence));
  }
  return text;
}

/// "1 violation" or "2 violations", of all that is there; empty if nothing is.
std::string findings_count(const std::array<std::uint64_t, kSeverities>& counts) {
  constexpr std::pair<Severity, const char*> kWords[] = {{Severity::kViolation, "violation"},
                                                         {Severity::kHabit, "habit"},
                                                         {Severity::kUnknown, "unknown"},
                                                         {Severity::kEvent, "event"}};
  std::string text;
  for (const auto& [severity, word] : kWords) {
    const std::uint64_t count = counts[static_cast<std::size_t>(severity)];
    const bool is_plural = count != 1 && severity != Severity::kUnknown;
    add_count(text, count, fmt::format("{}{}", word, is_plural ? "s" : "").c_str());
  }
  return text;
}

std::string choice_text(const Checker& checker) {
  if (!checker.is_choice()) return "";
  const LeftOut left_out = left_out_of(checker);
  const std::string findings = findings_count(left_out.findings);
  return fmt::format("shown: {} of {} connections; {} connections of others not shown, with {} packets{}\n",
                     pairs_of(checker.connections()).size(),
                     pairs_of(checker.connections()).size() + left_out.connections, left_out.connections,
                     left_out.packets, findings.empty() ? "" : "; findings not shown: " + findings);
}

std::string findings_text(const Checker& checker, Severity severity, const char* title) {
  const Findings& findings = checker.findings();
  if (findings.count_of(severity) == 0) return "";
  std::string text = fmt::format("{} ({})\n", title, findings.count_of(severity));
  std::map<Rule, std::size_t> shown;
  for (const Finding& finding : findings.kept()) {
    if (finding.severity == severity && ++shown[finding.rule] <= kShown) {
      text += finding_text(checker.connections(), finding);
    }
  }
  for (const auto& [rule, count] : shown) {
    const bool is_habit = info_of(rule).severity == Severity::kHabit;
    const std::uint64_t all = is_habit ? count : findings.count_of(rule);
    if (all > kShown) text += fmt::format("  {} {} times more\n", info_of(rule).name, all - kShown);
  }
  return text;
}

std::string ladders_text(const Checker& checker) {
  std::map<std::uint64_t, std::string> notes;
  for (const Finding& finding : checker.findings().kept()) {
    if (finding.severity == Severity::kViolation && !finding.frames.empty()) {
      std::string& note = notes[finding.frames.back()];
      note += (note.empty() ? "" : " !") + std::string(info_of(finding.rule).name);
    }
  }
  const Connections& connections = checker.connections();
  std::string text;
  for (const Pair& pair : pairs_of(connections)) {
    text += "\n" + draw_ladder(end_of(connections, pair, true), end_of(connections, pair, false),
                               connections.flows()[pair.forward].ladder,
                               pair.backward ? &connections.flows()[*pair.backward].ladder : nullptr, notes);
  }
  return text;
}

}  // namespace

std::string finding_text(const Connections& connections, const Finding& finding) {
  std::string text =
      fmt::format("  {} frame {}", info_of(finding.rule).name, fmt::join(finding.frames, ", "));
  if (finding.count > 1) text += fmt::format(" and {} more", finding.count - 1);
  if (finding.flow != kNoFlow) text += ", " + connections.name_of_flow(finding.flow);
  if (finding.expected.empty()) return text + ": " + finding.seen + "\n";
  return text + ": expected " + finding.expected + ", seen " + finding.seen + "\n";
}

std::string text_report(const std::string& file, const Checker& checker, const std::string& damage,
                        bool ladder) {
  const FrameCounts& counts = checker.counts();
  std::string text = fmt::format("{}: {} frames, {} RoCEv2", file, counts.frames, counts.roce_v2);
  text += counts.roce_v1 > 0 ? fmt::format(", {} RoCEv1", counts.roce_v1) : "";
  text += counts.others > 0 ? fmt::format(", {} others", counts.others) : "";
  text += fmt::format("; {} ICRC right, {} wrong", counts.icrc_right, counts.icrc_wrong);
  text += counts.icrc_unknown > 0 ? fmt::format(", {} unknown", counts.icrc_unknown) : "";
  text += counts.ecn_marked > 0 ? fmt::format("; {} marked by ECN", counts.ecn_marked) : "";
  text += "; " + duration(static_cast<double>(counts.last_ns - counts.first_ns)) + "\n";
  text += sightings_text(checker);
  text += choice_text(checker);
  text += connections_text(checker);
  text += silences_text(checker.connections());
  text += cnp_senders_text(checker.notifications().spacing());
  text += pauses_text(checker.pauses());
  text += findings_text(checker, Severity::kEvent, "events");
  text += findings_text(checker, Severity::kHabit, "habits, not counted");
  text += findings_text(checker, Severity::kUnknown, "unknown: this capture cannot tell");
  text += findings_text(checker, Severity::kViolation, "violations");
  if (ladder) text += ladders_text(checker);
  if (!damage.empty()) text += damage + "\n";
  return text + fmt::format("verdict: {}\n", to_string(verdict_of(checker, damage)));
}

}  // namespace urnic::check
