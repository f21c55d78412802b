#include "nic/host/udp_port_holders.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

namespace urnic::nic {
namespace {

std::optional<unsigned> number_in(std::string_view text, int base) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

// "  12: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 34567 2 ...": local address and
// port in hex, and behind the fifth column the user, the timeout and the inode, which a socket of the kernel has not.
std::vector<UdpPortHolder> udp_port_holders_of(const std::string& table, std::uint16_t port) {
  std::vector<UdpPortHolder> holders;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const std::size_t colon = local.rfind(':');
    if (inode.empty() || colon == std::string::npos) continue;
    if (number_in(std::string_view(local).substr(colon + 1), 16) != port) continue;
    holders.push_back({.is_kernel = inode == "0", .uid = number_in(uid, 10).value_or(0)});
  }
  return holders;
}

std::vector<UdpPortHolder> udp_port_holders(std::uint16_t port) {
  std::vector<UdpPortHolder> holders;
  for (const char* const file : {"/proc/net/udp", "/proc/net/udp6"}) {
    std::ifstream in(file);
    const auto found = udp_port_holders_of({std::istreambuf_iterator<char>(in), {}}, port);
    holders.insert(holders.end(), found.begin(), found.end());
  }
  return holders;
}

}  // namespace urnic::nic
