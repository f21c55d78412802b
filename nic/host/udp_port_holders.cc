// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/udp_port_holders.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace urnic::nic {
namespace {

namespace fs = std::filesystem;
using Process = UdpPortHolder::Process;

constexpr std::size_t kMostNamed = 4;

std::string contents_at(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Number>
std::optional<Number> read_number(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

/// Of "socket:[INODE]", as a descriptor's link has it.
std::optional<std::uint64_t> socket_inode(const fs::path& link) {
  constexpr std::string_view kBefore = "socket:[";
  const std::string text = link.string();
  if (!text.starts_with(kBefore)) return std::nullopt;
  return read_number<std::uint64_t>(std::string_view(text).substr(kBefore.size()));
}

Process process_at(const fs::path& folder, int number) {
  std::string program;
  std::getline(std::ifstream(folder / "comm"), program);
  return {.number = number, .program = program};
}

/// Adds the process to the holders whose sockets it has.
void look_at(const fs::path& folder, int number, std::map<std::uint64_t, UdpPortHolder*>& by_inode) {
  std::error_code code;
  for (fs::directory_iterator entry(folder / "fd", code), end; !code && entry != end; entry.increment(code)) {
    std::error_code gone;
    const auto inode = socket_inode(fs::read_symlink(entry->path(), gone));
    const auto held = inode ? by_inode.find(*inode) : by_inode.end();
    if (held == by_inode.end()) continue;
    std::vector<Process>& processes = held->second->processes;
    const bool is_known = !processes.empty() && processes.back().number == number;
    if (!is_known) processes.push_back(process_at(folder, number));
  }
}

}  // namespace

// "  12: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 34567 2 ...":
// local address and port in hex, and after the seventh column the user, the timeout and the inode, which is 0
// for a socket of the kernel.
std::vector<UdpPortHolder> udp_port_holders_of(const std::string& table, std::uint16_t port) {
  std::vector<UdpPortHolder> holders;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const std::size_t colon = local.rfind(':');
    if (inode.empty() || colon == std::string::npos) continue;
    if (read_number<unsigned>(std::string_view(local).substr(colon + 1), 16) != port) continue;
    holders.push_back({.is_kernel = inode == "0",
                       .uid = read_number<unsigned>(uid).value_or(0),
                       .inode = read_number<std::uint64_t>(inode).value_or(0)});
  }
  return holders;
}

std::vector<UdpPortHolder> udp_port_holders(std::uint16_t port, const std::string& root) {
  const fs::path proc = fs::path(root) / "proc";
  std::vector<UdpPortHolder> holders;
  for (const char* table : {"net/udp", "net/udp6"}) {
    std::ranges::move(udp_port_holders_of(contents_at(proc / table), port), std::back_inserter(holders));
  }
  return holders;
}

std::vector<UdpPortHolder> udp_port_holders_and_processes(std::uint16_t port, const std::string& root) {
  std::vector<UdpPortHolder> holders = udp_port_holders(port, root);
  std::map<std::uint64_t, UdpPortHolder*> by_inode;
  for (UdpPortHolder& holder : holders) {
    if (!holder.is_kernel) by_inode[holder.inode] = &holder;
  }
  if (by_inode.empty()) return holders;
  std::error_code code;
  for (fs::directory_iterator entry(fs::path(root) / "proc", code), end; !code && entry != end;
       entry.increment(code)) {
    const auto number = read_number<int>(entry->path().filename().string());
    if (number) look_at(entry->path(), *number, by_inode);
  }
  return holders;
}

std::string processes_text(const std::vector<UdpPortHolder>& holders) {
  std::vector<Process> named;
  for (const UdpPortHolder& holder : holders) {
    for (const Process& process : holder.processes) {
      if (std::ranges::find(named, process) == named.end()) named.push_back(process);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(named.size(), kMostNamed); ++i) {
    text += (i == 0 ? "process " : ", process ") + std::to_string(named[i].number) + " (" + named[i].program +
            ")";
  }
  return named.size() > kMostNamed ? text + " and others" : text;
}

}  // namespace urnic::nic
