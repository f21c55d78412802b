// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/policy_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace urnic::check {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kRates[] = {{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};

/// A number and one of `units`, as nothing but digits and a point: from_chars() would take "-1", "inf" and
/// "1e9", too.
std::optional<double> quantity(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == text.substr(digits)) return number * unit.factor;
  }
  return std::nullopt;
}

std::optional<CnpScope> scope_of(std::string_view name) {
  if (name == "qp") return CnpScope::kQueuePair;
  if (name == "address") return CnpScope::kAddress;
  if (name == "port") return CnpScope::kPort;
  return std::nullopt;
}

std::optional<Mac> mac_of(std::string_view text) {
  constexpr std::size_t kTextBytes = 17;
  if (text.size() != kTextBytes) return std::nullopt;
  Mac mac;
  for (std::size_t i = 0; i < mac.octets.size(); ++i) {
    const char* const at = text.data() + 3 * i;
    if (i > 0 && at[-1] != ':') return std::nullopt;
    const auto [end, error] = std::from_chars(at, at + 2, mac.octets[i], 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
  }
  return mac;
}

}  // namespace

bool read_cnp_spacing(std::string_view text, CongestionPolicy& policy) {
  constexpr double kLongest = 3600e9;
  const std::size_t colon = text.find(':');
  const auto ns = quantity(text.substr(0, colon), kTimes);
  const auto scope =
      colon == std::string_view::npos ? CnpScope::kQueuePair : scope_of(text.substr(colon + 1));
  if (!ns || !scope || *ns < 1 || *ns > kLongest) return false;
  policy.cnp_spacing_ns = std::llround(*ns);
  policy.cnp_scope = *scope;
  return true;
}

bool read_link_rate(std::string_view text, CongestionPolicy& policy) {
  constexpr double kFastest = 100e12;
  const auto bps = quantity(text, kRates);
  if (!bps || *bps < 1 || *bps > kFastest) return false;
  policy.link_rate_bps = *bps;
  return true;
}

bool read_link_host(std::string_view text, CongestionPolicy& policy) {
  std::vector<Mac> macs;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    const auto mac = mac_of(text.substr(0, comma));
    if (!mac || mac->is_group()) return false;
    macs.push_back(*mac);
    is_last = comma == std::string_view::npos;
    if (!is_last) text.remove_prefix(comma + 1);
  }
  policy.link_host = std::move(macs);
  return true;
}

}  // namespace urnic::check
