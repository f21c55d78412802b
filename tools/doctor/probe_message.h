// ProbeMessage: what two doctors send each other, to find out what the way between them carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace urnic::tools {

/// The first bytes of a UDP datagram, in network order: eight letters, a kind, three zeros, a number that the one who asks has
/// drawn, and a size. Padding follows. No RoCEv2 packet begins so: as a BTH it would be of a transport version that there is not.
struct ProbeMessage {
  static constexpr std::size_t kBytes = 24;

  enum class Kind : std::uint8_t {
    kProbe = 1,    ///< as large as it says, and asks for both answers
    kReceipt = 2,  ///< as short as can be: the probe has come
    kEcho = 3,     ///< as large as the probe
  };

  Kind kind = Kind::kProbe;
  std::uint64_t number = 0;        ///< of the probe
  std::uint32_t packet_bytes = 0;  ///< of the probe, IP header included

  /// Nothing for what is no such message.
  static std::optional<ProbeMessage> parse(std::span<const std::byte> bytes);
  /// Writes it to the front of `out`, which has kBytes at least.
  void emit(std::span<std::byte> out) const;

  friend bool operator==(const ProbeMessage&, const ProbeMessage&) = default;
};

}  // namespace urnic::tools
