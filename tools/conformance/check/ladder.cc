// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/ladder.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/packets/number_text.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::check {
namespace {

constexpr std::size_t kArrowWidth = 58;

/// The captured message of the connection manager, in words; otherwise empty.
std::string management_text(const Packet& packet) {
  const auto message = parse_cm(packet);
  return message ? describe(*message) : std::string();
}

std::string text_of(const LadderRow& row) {
  const OpcodeInfo& info = info_of(row.opcode);
  std::string text;
  if (!row.management.empty()) return row.management + (row.ack_requested ? " A" : "");
  if (info.operation == Operation::kAcknowledge) {
    text = describe_syndrome(row.syndrome);
  } else {
    text = name_of(row.opcode);
  }
  text += " " + to_string(row.first);
  if (row.count > 1) text += fmt::format("..{} x{}", to_string(row.last), row.count);
  if ((info.has_payload && info.service != Service::kCnp && !info.is_acknowledge()) ||
      info.operation == Operation::kRead) {
    text += fmt::format(" {} B", row.bytes);
  }
  if (info.has_aeth) text += fmt::format(" msn {}", row.msn);
  return text + (row.ack_requested ? " A" : "");
}

std::string arrow(const std::string& text, bool to_right) {
  const std::size_t room = kArrowWidth - std::min(kArrowWidth, text.size() + 4);
  return to_right ? fmt::format("|- {} {:->{}}>|", text, "", room)
                  : fmt::format("|<{:-<{}} {} -|", "", room, text);
}

}  // namespace

void LadderRows::add(const Seen& seen, LadderMark mark, bool interrupted, std::size_t limit) {
  const Packet& packet = seen.packet;
  if (!rows_.empty() && left_out_ == 0 && !interrupted && packet.info->position == Position::kMiddle &&
      rows_.back().opcode == packet.opcode && rows_.back().mark == mark &&
      rows_.back().last + 1 == packet.psn && rows_.back().ack_requested == packet.ack_requested) {
    LadderRow& row = rows_.back();
    row.last = packet.psn;
    row.last_frame = seen.number;
    row.bytes += packet.payload_bytes;
    ++row.count;
  } else if (rows_.size() < limit) {
    rows_.push_back(
        LadderRow{.frame = seen.number,
                  .last_frame = seen.number,
                  .time_ns = seen.time_ns,
                  .bytes = packet.info->operation == Operation::kRead ? packet.length : packet.payload_bytes,
                  .first = packet.psn,
                  .last = packet.psn,
                  .msn = packet.msn,
                  .management = management_text(packet),
                  .opcode = packet.opcode,
                  .syndrome = packet.syndrome,
                  .ack_requested = packet.ack_requested,
                  .mark = mark});
  } else {
    ++left_out_;
  }
  last_frame_ = seen.number;
}

std::string draw_ladder(const std::string& left_end, const std::string& right_end, const LadderRows& right,
                        const LadderRows* left, const std::map<std::uint64_t, std::string>& notes) {
  struct Step {
    const LadderRow* row;
    bool to_right;
  };
  std::vector<Step> steps;
  const auto take = [&steps](const LadderRows& rows, bool to_right) {
    std::transform(rows.rows().begin(), rows.rows().end(), std::back_inserter(steps),
                   [to_right](const LadderRow& row) {
                     return Step{&row, to_right};
                   });
  };
  take(right, true);
  if (left != nullptr) take(*left, false);
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.row->frame < b.row->frame; });

  std::string text = fmt::format("{:>16}  {:<30}{:>30}\n", "", left_end, right_end);
  for (const Step& step : steps) {
    const LadderRow& row = *step.row;
    const std::int64_t since = row.time_ns - steps.front().row->time_ns;
    text += fmt::format("{:>6} {:>9.3f}  {}", row.frame, static_cast<double>(since) / 1e6,
                        arrow(text_of(row), step.to_right));
    if (row.mark != LadderMark::kNone) text += row.mark == LadderMark::kAgain ? " again" : " network copy";
    for (auto note = notes.lower_bound(row.frame); note != notes.end() && note->first <= row.last_frame;
         ++note) {
      text += " !" + note->second;
    }
    text += '\n';
  }
  const std::uint64_t left_out = right.left_out() + (left != nullptr ? left->left_out() : 0);
  if (left_out > 0) text += fmt::format("{:>16}  ... and {} packets more\n", "", left_out);
  return text;
}

}  // namespace urnic::check
