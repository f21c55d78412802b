// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/sheet/icrc_cover.h"

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::sheet {

namespace wire = transport::wire;

namespace {

/// Room for the longest extended header after the BTH.
constexpr std::size_t kTransportBytes = wire::Bth::kBytes + wire::AtomicEth::kBytes;

/// A packet of zeros, of which one bit at a time changes.
class Probe {
 public:
  explicit Probe(bool is_ipv6) : is_ipv6_(is_ipv6) {}

  std::size_t udp_at() const { return is_ipv6_ ? wire::Ipv6::kBytes : wire::Ipv4::kMinBytes; }
  std::size_t bth_at() const { return udp_at() + wire::Udp::kBytes; }

  bool is_covered(std::size_t bit) {
    const std::uint32_t before = icrc();
    std::byte& byte = bytes_[bit / CHAR_BIT];
    const std::byte mask = std::byte{0x80} >> (bit % CHAR_BIT);
    byte ^= mask;
    const std::uint32_t after = icrc();
    byte ^= mask;
    return before != after;
  }

 private:
  std::uint32_t icrc() const {
    const std::span<const std::byte> all(bytes_);
    const auto ip_and_udp = all.first(bth_at());
    const auto transport = all.subspan(bth_at(), kTransportBytes);
    return is_ipv6_ ? wire::icrc_ipv6(ip_and_udp, transport) : wire::icrc_ipv4(ip_and_udp, transport);
  }

  bool is_ipv6_;
  std::array<std::byte, wire::Ipv6::kBytes + wire::Udp::kBytes + kTransportBytes> bytes_{};
};

std::size_t place_of(std::string_view header, const Probe& probe) {
  if (header == "IPv4" || header == "IPv6") return 0;
  if (header == "UDP") return probe.udp_at();
  if (header == "BTH") return probe.bth_at();
  return probe.bth_at() + wire::Bth::kBytes;
}

}  // namespace

bool is_taken_for_ones(const view::Header& header, const view::Field& field) {
  Probe probe(std::string_view(header.name) == "IPv6");
  const std::size_t first = CHAR_BIT * place_of(header.name, probe) + field.bit;
  for (std::size_t bit = first; bit < first + field.bits; ++bit) {
    if (probe.is_covered(bit)) return false;
  }
  return true;
}

}  // namespace urnic::sheet
