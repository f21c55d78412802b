// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/stat/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "nic/diagnostics/counter_aliases.h"
#include "nic/diagnostics/snapshot_names.h"
#include "nic/rdma_cm/id_snapshot.h"

namespace urnic::tools {

namespace {

using nic::address_text;
using nic::DeviceSnapshot;
using nic::name_of;
using nic::QueuePairSnapshot;
using Lines = std::vector<std::string>;
namespace rdma_cm = nic::rdma_cm;

/// 1234567 as "1.23 M".
std::string short_number(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, kUnits[unit]);
}

std::string duration_text(std::int64_t ns) {
  const std::int64_t seconds = ns / 1'000'000'000;
  if (seconds < 60) return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

/// The name of a program is any bytes, and those that steer terminals are not for terminals.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

std::string qp_text(transport::QpNumber number) {
  return fmt::format("0x{:06x}", to_integer(number));
}

/// "2/7", or "2" where the number is unlimited; "-" where the queue pair does not count.
std::string attempts_text(const QueuePairSnapshot& qp, unsigned used, unsigned allowed, bool for_ever) {
  using nic::QpType;
  if (qp.type != QpType::kRc && qp.type != QpType::kXrcInitiator) return "-";
  return for_ever ? fmt::format("{}/inf", used) : fmt::format("{}/{}", used, allowed);
}

constexpr const char* kRow =
    "  {:<8} {:<10} {:<5} {:<8} {:<15} {:>8} {:>8} {:>6} {:>6} {:>6} {:>5} {:>7} {:>7} {:>6} {:>6} {:>5}";

std::string heading() {
  return fmt::format(fmt::runtime(kRow), "QP", "type", "state", "peer QP", "peer address", "send PSN",
                     "recv PSN", "sends", "recvs", "flight", "reads", "retries", "RNR", "lost", "waits",
                     "MTU");
}

/// What limits the queue pair, for the end of its row; "" for nothing.
std::string limits_of(const QueuePairSnapshot& qp) {
  using namespace transport::congestion;
  if (!qp.congestion) return "";
  const ControllerState& state = *qp.congestion;
  const auto megabits = [](BitsPerSecond rate) { return static_cast<double>(rate) / kMegabit; };
  std::string text = fmt::format("  {}", name_of(state.kind));
  if (state.allowance.rate != kUnlimited) {
    text += fmt::format(", {:.1f} Mb/s", megabits(state.allowance.rate));
  }
  if (state.kind == ControllerKind::kDcqcn) {
    text +=
        fmt::format(", target {:.1f} Mb/s, alpha {:.3f}", megabits(state.target_rate), state.alpha_ppm / 1e6);
  }
  if (state.allowance.window_bytes != kUnlimitedBytes) {
    text += fmt::format(", window {} bytes", state.allowance.window_bytes);
  }
  return text;
}

std::string row_of(const QueuePairSnapshot& qp) {
  const bool has_peer = !qp.peer.is_unspecified();
  const transport::SendProgress& progress = qp.progress;
  return fmt::format(
             fmt::runtime(kRow), qp_text(qp.number), name_of(qp.type), name_of(qp.state),
             has_peer ? qp_text(qp.peer_qp) : "-", has_peer ? address_text(qp.peer) : "-",
             qp.send_psn.value(), qp.receive_psn.value(), qp.sends_posted, qp.receives_posted,
             progress.packets_in_flight, progress.reads_in_flight,
             attempts_text(qp, progress.retries_used, qp.retry_count, false),
             attempts_text(qp, progress.rnr_retries_used, qp.rnr_retry, qp.rnr_retry == 7), progress.retries,
             fmt::format("{}{}", progress.rnr_waits, progress.waits_for_receiver ? "*" : ""), qp.path_mtu) +
         limits_of(qp);
}

constexpr const char* kIdRow = "  {:<8} {:<10} {:<5} {:<14} {:<13} {:<21} {:<21} {:<8} {:<8} {:>7}";

std::string id_heading() {
  return fmt::format(fmt::runtime(kIdRow), "CM id", "service", "space", "state", "connection",
                     "local address", "peer address", "QP", "peer QP", "backlog");
}

std::string row_of(const rdma_cm::IdSnapshot& id) {
  const auto address = [](const rdma_cm::SocketAddress& it) {
    return it.family == rdma_cm::SocketAddress::Family::kNone ? "-" : to_string(it);
  };
  const auto qp = [](transport::QpNumber number) {
    return number == transport::QpNumber{} ? "-" : qp_text(number);
  };
  const bool is_listener = id.state == rdma_cm::IdState::kListen;
  return fmt::format(
      fmt::runtime(kIdRow), transport::to_integer(id.number), name_of(id.service), name_of(id.space),
      name_of(id.state), id.connection_state ? name_of(*id.connection_state) : "-", address(id.local),
      address(id.peer), qp(id.qp), qp(id.peer_qp), is_listener ? std::to_string(id.backlog) : "-");
}

/// Other names of what is shown already.
bool is_alias(std::string_view name) {
  return std::any_of(std::begin(nic::kCounterAliases), std::end(nic::kCounterAliases),
                     [&](const auto& alias) { return alias.name == name; });
}

std::uint64_t counter(const DeviceSnapshot& snapshot, std::string_view name) {
  for (const auto& [its_name, value] : snapshot.counters) {
    if (its_name == name) return value;
  }
  return 0;
}

Lines counters_of(const DeviceSnapshot& now, const DeviceSnapshot* before) {
  Lines lines;
  const double seconds = before != nullptr ? static_cast<double>(now.uptime_ns - before->uptime_ns) / 1e9 : 0;
  for (const auto& [name, value] : now.counters) {
    if (value == 0 || is_alias(name)) continue;
    std::string rate;
    // Counters that are read one after the other may seem to have gone back.
    if (seconds > 0) {
      const std::uint64_t then = std::min(counter(*before, name), value);
      rate = fmt::format("{:>10}/s", short_number(static_cast<double>(value - then) / seconds));
    }
    lines.push_back(fmt::format("  {:<32}{:>20}{}", printable(name), value, rate));
  }
  return lines;
}

Lines head_of(const NicProcess& process, const DeviceSnapshot& snapshot) {
  std::string addresses;
  for (const auto& gid : snapshot.gids) {
    addresses += fmt::format("{}{}", addresses.empty() ? "" : ", ", address_text(gid));
  }
  const std::int64_t pid = process.pid != 0 ? process.pid : snapshot.pid;
  return {fmt::format("{} (process {}): {}, up {}", printable(snapshot.program), pid,
                      printable(snapshot.device), duration_text(snapshot.uptime_ns)),
          fmt::format("  {}{}, {}, link MTU {}", printable(snapshot.port),
                      snapshot.has_link ? snapshot.is_started ? "" : " (not open yet)" : " (link down)",
                      printable(snapshot.mac), snapshot.link_mtu),
          fmt::format("  {}", addresses),
          fmt::format("  {} QPs, {} CQs, {} SRQs, {} MRs, {} MWs, {} CM ids", snapshot.queue_pairs.size(),
                      snapshot.completion_queues, snapshot.shared_receive_queues, snapshot.memory_regions,
                      snapshot.memory_windows, snapshot.ids.size())};
}

void append(Lines& to, const Lines& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The first `most` of them, below a heading, and how many more there are.
template <typename Row>
void append_rows(Lines& to, const std::string& heading, std::span<const Row> rows, std::size_t most,
                 std::string_view what) {
  const std::size_t shown = std::min(rows.size(), most);
  if (shown > 0) to.push_back(heading);
  for (const Row& row : rows.first(shown)) to.push_back(row_of(row));
  if (shown < rows.size()) {
    to.push_back(fmt::format("  {} more {}; --json shows them all", rows.size() - shown, what));
  }
}

/// At most so many of its queue pairs and ids. Each kind may have half of the rows, and what the other one
/// leaves.
Lines lines_of(const NicProcess& process, const DeviceSnapshot* before, std::size_t most_rows) {
  if (!process.snapshot) {
    const std::string who = process.pid != 0 ? fmt::format("process {}", process.pid) : process.socket;
    return {fmt::format("{}: {}", who, process.error)};
  }
  const DeviceSnapshot& snapshot = *process.snapshot;
  Lines lines = head_of(process, snapshot);
  const std::size_t left_by_queue_pairs = most_rows - std::min(most_rows, snapshot.queue_pairs.size());
  const std::size_t ids = std::min(snapshot.ids.size(), std::max(most_rows / 2, left_by_queue_pairs));
  append_rows<QueuePairSnapshot>(lines, heading(), snapshot.queue_pairs, most_rows - ids, "queue pairs");
  append_rows<rdma_cm::IdSnapshot>(lines, id_heading(), snapshot.ids, ids, "CM ids");
  append(lines, counters_of(snapshot, before));
  return lines;
}

const DeviceSnapshot* find(std::span<const NicProcess> processes, const std::string& socket) {
  for (const NicProcess& process : processes) {
    if (process.socket == socket && process.snapshot) return &*process.snapshot;
  }
  return nullptr;
}

Lines all_lines(std::span<const NicProcess> processes, std::span<const NicProcess> before,
                std::size_t most_rows) {
  Lines lines;
  for (const NicProcess& process : processes) {
    if (!lines.empty()) lines.emplace_back();
    append(lines, lines_of(process, find(before, process.socket), most_rows));
  }
  return lines;
}

}  // namespace

std::string table_of(std::span<const NicProcess> processes, std::span<const NicProcess> before,
                     std::optional<std::size_t> most_lines) {
  Lines lines = all_lines(processes, before, SIZE_MAX);
  if (most_lines && lines.size() > *most_lines && !processes.empty()) {
    // What each process has too many, or would need a line for; some of them may have fewer to give.
    const std::size_t without = all_lines(processes, before, 0).size();
    const std::size_t room = *most_lines > without ? (*most_lines - without) / processes.size() : 0;
    const bool has_ids = std::any_of(processes.begin(), processes.end(), [](const NicProcess& process) {
      return process.snapshot && !process.snapshot->ids.empty();
    });
    const std::size_t headings = has_ids ? 2 : 1;
    lines = all_lines(processes, before, room > headings ? room - headings : 0);
  }
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace urnic::tools
