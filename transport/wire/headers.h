// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The Base Transport Header and the extended headers as plain structs with parse and emit.
//
// parse() reads the first kBytes of `bytes`, emit() writes the first kBytes of `out` and returns kBytes;
// there must be that many. Neither fails: what the values mean is checked elsewhere. Fields wider in memory
// than on the wire are cut to their size when written. All of it is inline because it runs several times per
// packet.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/types.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/opcode.h"

namespace urnic::transport::wire {

/// Base Transport Header, 12 bytes. Reserved bits are kept so that a parsed header re-emits to the same
/// bytes.
struct Bth {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::size_t kDestinationQpAt = 5;  ///< where its 24 bits stand

  Opcode opcode{};
  bool solicited = false;
  bool migrated = true;        ///< MigReq: we send 1 and accept both (fact 15)
  std::uint8_t pad_count = 0;  ///< 0..3 bytes of zero after the payload
  std::uint8_t version = 0;    ///< TVer, 4 bits
  std::uint16_t pkey = 0xffff;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved6 = 0;  ///< 6 bits after FECN and BECN
  QpNumber destination_qp{};
  bool ack_request = false;
  std::uint8_t reserved7 = 0;  ///< 7 bits after AckReq
  Psn psn{};

  static Bth parse(std::span<const std::byte> bytes) {
    const std::uint8_t flags = load_u8(bytes, 1);
    const std::uint8_t congestion = load_u8(bytes, 4);
    const std::uint8_t acknowledge = load_u8(bytes, 8);
    return Bth{.opcode = static_cast<Opcode>(load_u8(bytes, 0)),
               .solicited = (flags & 0x80u) != 0,
               .migrated = (flags & 0x40u) != 0,
               .pad_count = static_cast<std::uint8_t>((flags >> 4) & 0x3u),
               .version = static_cast<std::uint8_t>(flags & 0xfu),
               .pkey = load_u16(bytes, 2),
               .fecn = (congestion & 0x80u) != 0,
               .becn = (congestion & 0x40u) != 0,
               .reserved6 = static_cast<std::uint8_t>(congestion & 0x3fu),
               .destination_qp = static_cast<QpNumber>(load_u24(bytes, 5)),
               .ack_request = (acknowledge & 0x80u) != 0,
               .reserved7 = static_cast<std::uint8_t>(acknowledge & 0x7fu),
               .psn = Psn(load_u24(bytes, 9))};
  }

  friend constexpr bool operator==(const Bth&, const Bth&) = default;
};

inline std::size_t emit(const Bth& bth, std::span<std::byte> out) {
  const unsigned flags = (bth.solicited ? 0x80u : 0u) | (bth.migrated ? 0x40u : 0u) |
                         (bth.pad_count & 0x3u) << 4 | (bth.version & 0xfu);
  const unsigned congestion = (bth.fecn ? 0x80u : 0u) | (bth.becn ? 0x40u : 0u) | (bth.reserved6 & 0x3fu);
  const unsigned acknowledge = (bth.ack_request ? 0x80u : 0u) | (bth.reserved7 & 0x7fu);
  store_u8(out, 0, to_integer(bth.opcode));
  store_u8(out, 1, static_cast<std::uint8_t>(flags));
  store_u16(out, 2, bth.pkey);
  store_u8(out, 4, static_cast<std::uint8_t>(congestion));
  store_u24(out, 5, to_integer(bth.destination_qp));
  store_u8(out, 8, static_cast<std::uint8_t>(acknowledge));
  store_u24(out, 9, bth.psn.value());
  return Bth::kBytes;
}

/// RDMA extended header, 16 bytes: what to read or write.
struct Reth {
  static constexpr std::size_t kBytes = 16;

  std::uint64_t address = 0;
  Rkey rkey{};
  std::uint32_t length = 0;  ///< bytes of the whole message

  static Reth parse(std::span<const std::byte> bytes) {
    return Reth{.address = load_u64(bytes, 0),
                .rkey = static_cast<Rkey>(load_u32(bytes, 8)),
                .length = load_u32(bytes, 12)};
  }

  friend constexpr bool operator==(const Reth&, const Reth&) = default;
};

inline std::size_t emit(const Reth& reth, std::span<std::byte> out) {
  store_u64(out, 0, reth.address);
  store_u32(out, 8, to_integer(reth.rkey));
  store_u32(out, 12, reth.length);
  return Reth::kBytes;
}

/// ACK extended header, 4 bytes. The syndrome is kept raw; transport/rc/syndrome.h reads it (fact 19).
struct Aeth {
  static constexpr std::size_t kBytes = 4;

  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  ///< 24 bits

  static Aeth parse(std::span<const std::byte> bytes) {
    return Aeth{.syndrome = load_u8(bytes, 0), .msn = load_u24(bytes, 1)};
  }

  friend constexpr bool operator==(const Aeth&, const Aeth&) = default;
};

inline std::size_t emit(const Aeth& aeth, std::span<std::byte> out) {
  store_u8(out, 0, aeth.syndrome);
  store_u24(out, 1, aeth.msn);
  return Aeth::kBytes;
}

/// Datagram extended header, 8 bytes.
struct Deth {
  static constexpr std::size_t kBytes = 8;

  std::uint32_t qkey = 0;
  std::uint8_t reserved = 0;
  QpNumber source_qp{};

  static Deth parse(std::span<const std::byte> bytes) {
    return Deth{.qkey = load_u32(bytes, 0),
                .reserved = load_u8(bytes, 4),
                .source_qp = static_cast<QpNumber>(load_u24(bytes, 5))};
  }

  friend constexpr bool operator==(const Deth&, const Deth&) = default;
};

inline std::size_t emit(const Deth& deth, std::span<std::byte> out) {
  store_u32(out, 0, deth.qkey);
  store_u8(out, 4, deth.reserved);
  store_u24(out, 5, to_integer(deth.source_qp));
  return Deth::kBytes;
}

/// Atomic extended header, 28 bytes.
struct AtomicEth {
  static constexpr std::size_t kBytes = 28;

  std::uint64_t address = 0;
  Rkey rkey{};
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;

  static AtomicEth parse(std::span<const std::byte> bytes) {
    return AtomicEth{.address = load_u64(bytes, 0),
                     .rkey = static_cast<Rkey>(load_u32(bytes, 8)),
                     .swap_or_add = load_u64(bytes, 12),
                     .compare = load_u64(bytes, 20)};
  }

  friend constexpr bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

inline std::size_t emit(const AtomicEth& atomic, std::span<std::byte> out) {
  store_u64(out, 0, atomic.address);
  store_u32(out, 8, to_integer(atomic.rkey));
  store_u64(out, 12, atomic.swap_or_add);
  store_u64(out, 20, atomic.compare);
  return AtomicEth::kBytes;
}

/// Atomic acknowledge extended header, 8 bytes.
struct AtomicAckEth {
  static constexpr std::size_t kBytes = 8;

  std::uint64_t original = 0;  ///< what the memory held before

  static AtomicAckEth parse(std::span<const std::byte> bytes) {
    return AtomicAckEth{.original = load_u64(bytes, 0)};
  }

  friend constexpr bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};

inline std::size_t emit(const AtomicAckEth& atomic_ack, std::span<std::byte> out) {
  store_u64(out, 0, atomic_ack.original);
  return AtomicAckEth::kBytes;
}

/// Immediate data, 4 bytes that only the programs interpret.
struct Immediate {
  static constexpr std::size_t kBytes = 4;

  std::uint32_t value = 0;  ///< the four bytes as on the wire (network order in memory)

  static Immediate parse(std::span<const std::byte> bytes) {
    assert(bytes.size() >= kBytes);
    Immediate immediate;
    std::memcpy(&immediate.value, bytes.data(), kBytes);
    return immediate;
  }

  friend constexpr bool operator==(const Immediate&, const Immediate&) = default;
};

inline std::size_t emit(const Immediate& immediate, std::span<std::byte> out) {
  assert(out.size() >= Immediate::kBytes);
  std::memcpy(out.data(), &immediate.value, Immediate::kBytes);
  return Immediate::kBytes;
}

/// Invalidate extended header, 4 bytes.
struct Ieth {
  static constexpr std::size_t kBytes = 4;

  Rkey rkey{};

  static Ieth parse(std::span<const std::byte> bytes) {
    return Ieth{.rkey = static_cast<Rkey>(load_u32(bytes, 0))};
  }

  friend constexpr bool operator==(const Ieth&, const Ieth&) = default;
};

inline std::size_t emit(const Ieth& ieth, std::span<std::byte> out) {
  store_u32(out, 0, to_integer(ieth.rkey));
  return Ieth::kBytes;
}

/// XRC extended header, 4 bytes. Its 8 reserved bits are ignored and sent as 0.
struct Xrceth {
  static constexpr std::size_t kBytes = 4;

  std::uint32_t srq = 0;  ///< 24 bits

  static Xrceth parse(std::span<const std::byte> bytes) { return Xrceth{.srq = load_u24(bytes, 1)}; }

  friend constexpr bool operator==(const Xrceth&, const Xrceth&) = default;
};

inline std::size_t emit(const Xrceth& xrceth, std::span<std::byte> out) {
  store_u8(out, 0, 0);
  store_u24(out, 1, xrceth.srq);
  return Xrceth::kBytes;
}

/// FLUSH extended header, 4 bytes (fact 32). Its 26 reserved bits are ignored and sent as 0.
struct Feth {
  static constexpr std::size_t kBytes = 4;

  std::uint8_t placement_type = 0;  ///< 4 bits: 1 global visibility, 2 persistence
  std::uint8_t selectivity = 0;     ///< 2 bits: 0 the range of the RETH, 1 the whole memory region

  static Feth parse(std::span<const std::byte> bytes) {
    const std::uint8_t low = load_u8(bytes, 3);
    return Feth{.placement_type = static_cast<std::uint8_t>(low & 0xfu),
                .selectivity = static_cast<std::uint8_t>((low >> 4) & 0x3u)};
  }

  friend constexpr bool operator==(const Feth&, const Feth&) = default;
};

inline std::size_t emit(const Feth& feth, std::span<std::byte> out) {
  store_u32(out, 0, (feth.selectivity & 0x3u) << 4 | (feth.placement_type & 0xfu));
  return Feth::kBytes;
}

}  // namespace urnic::transport::wire
