// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Room: where the next frame may be written, or why there is no place for it now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::nic {

/// What PacketPort::reserve_to() gives: room for one frame, or a refusal. Some ports have several ways out,
/// and one of them may be full while others are not. Lies in two registers.
class Room {
 public:
  enum class Refusal : std::uint8_t {
    kPort,     ///< the port takes no frame, wherever it goes
    kShared,   ///< none for the stations that have no way of their own; for those it has to be asked again
    kStation,  ///< none for this station, which has a way of its own
    kStalled,  ///< the same, and the station has taken nothing for so long that it may never take anything
  };

  /// The port takes no frame.
  Room() = default;
  /// Room of that many bytes. Without any, the port takes no frame.
  Room(std::span<std::byte> bytes) : data_(bytes.data()), size_(static_cast<std::uint32_t>(bytes.size())) {}
  /// The same for a frame that may come without its ICRC: PacketPort::commit_without_icrc(). A run may come,
  /// too, of so many bytes from the same place on: PacketPort::commit_run().
  static Room without_icrc(std::span<std::byte> bytes, std::uint16_t run_bytes = 0) {
    Room room(bytes);
    room.may_lack_icrc_ = true;
    room.run_bytes_ = run_bytes;
    return room;
  }
  static Room none(Refusal refusal) {
    Room room;
    room.refusal_ = refusal;
    return room;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  bool may_lack_icrc() const { return may_lack_icrc_; }
  /// Room for a run; empty where there must be none. Where it is shorter than bytes(), it is of no use.
  std::span<std::byte> run() const { return {data_, run_bytes_}; }
  /// The same room for single and whole frames, which ports that look at them need.
  Room with_icrc() const {
    Room room = *this;
    room.may_lack_icrc_ = false;
    room.run_bytes_ = 0;
    return room;
  }
  /// Why it is empty.
  Refusal refusal() const { return refusal_; }

 private:
  std::byte* data_ = nullptr;
  std::uint32_t size_ = 0;
  Refusal refusal_ = Refusal::kPort;
  bool may_lack_icrc_ = false;
  std::uint16_t run_bytes_ = 0;
};

}  // namespace urnic::nic
