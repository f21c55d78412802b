// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/choice.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "tools/conformance/check/connections.h"
#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::uint32_t kMostQpNumber = 0xffffff;

std::optional<std::uint32_t> queue_pair_of(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = text.substr(is_hex ? 2 : 0);
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end || number > kMostQpNumber) return std::nullopt;
  return number;
}

std::optional<Address> address_of(std::string_view text) {
  const std::string word(text);
  Address address;
  if (inet_pton(AF_INET6, word.c_str(), address.octets.data()) == 1) return address;
  address = {};
  address.octets[10] = address.octets[11] = 0xff;
  if (inet_pton(AF_INET, word.c_str(), address.octets.data() + 12) == 1) return address;
  return std::nullopt;
}

/// One or two words with `separator` between them, each read by `read`.
template <typename Value, typename Read>
std::optional<std::vector<Value>> one_or_two(std::string_view text, char separator, Read read) {
  std::vector<Value> values;
  const std::size_t middle = text.find(separator);
  const auto first = read(text.substr(0, middle));
  if (!first) return std::nullopt;
  values.push_back(*first);
  if (middle == std::string_view::npos) return values;
  const auto second = read(text.substr(middle + 1));
  if (!second) return std::nullopt;
  values.push_back(*second);
  return values;
}

/// Whether each of `wanted` is `one` or `other`.
template <typename Value>
bool are_ends(const std::vector<Value>& wanted, const std::optional<Value>& one, const Value& other) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const Value& value) { return one == value || other == value; });
}

}  // namespace

std::optional<std::vector<std::uint32_t>> read_queue_pairs(std::string_view text) {
  return one_or_two<std::uint32_t>(text, ':', queue_pair_of);
}

std::optional<std::vector<Address>> read_addresses(std::string_view text) {
  return one_or_two<Address>(text, ',', address_of);
}

std::string to_string(const Choice& choice) {
  std::string text;
  for (const std::uint32_t number : choice.queue_pairs) {
    text += fmt::format("{}queue pair {}", text.empty() ? "" : " and ", qp_text(number));
  }
  for (const Address& address : choice.addresses) {
    text += fmt::format("{}address {}", text.empty() ? "" : " and ", to_string(address));
  }
  return text;
}

void add_chosen_flows(const Connections& connections, const Choice& choice, FlowSet& chosen) {
  for (const Flow& flow : connections.flows()) {
    const auto source_qp = connections.source_qp_of(flow);
    if (!are_ends(choice.queue_pairs, source_qp, flow.key.destination_qp) ||
        !are_ends(choice.addresses, std::optional(flow.key.source), flow.key.destination)) {
      continue;
    }
    chosen.insert(flow.key);
    if (flow.peer) chosen.insert(connections.flows()[*flow.peer].key);
  }
}

}  // namespace urnic::check
