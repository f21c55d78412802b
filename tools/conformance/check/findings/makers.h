// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Makers: whose habits deviations from the rules are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace urnic::check {

/// NICs of one kind each; a set of bits.
enum class Makers : std::uint8_t {
  kNone = 0,
  kRxe = 1 << 0,       ///< rdma_rxe of Linux
  kConnectX = 1 << 1,  ///< NVIDIA
  kE810 = 1 << 2,      ///< Intel
  kHns = 1 << 3,       ///< HiSilicon
  kFpga = 1 << 4,      ///< 100G-verilog-RoCEv2-lite
  kEvery = 0xff,
};

constexpr Makers operator|(Makers a, Makers b) {
  return static_cast<Makers>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool have_common(Makers a, Makers b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

/// "rxe", or several with plus signs between them: "rxe+connectx". Nothing if one of them is not known.
std::optional<Makers> read_makers(std::string_view text);

/// All that read_makers() knows, as "rxe|connectx".
std::string known_makers();

}  // namespace urnic::check
