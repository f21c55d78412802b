// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HandMadeBack: a vhost-user back without DPDK, which does to a front what no driver does.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/dpdk/vhost_message.h"

namespace urnic::drivers {

/// What a front hands over in its handshake. Its rings are as virtio 1.1, 2.6 has them (split virtqueues).
class HandMadeBack {
 public:
  explicit HandMadeBack(const std::string& path);
  HandMadeBack(const HandMadeBack&) = delete;
  HandMadeBack& operator=(const HandMadeBack&) = delete;
  ~HandMadeBack();

  /// Answers the front until it has nothing more to ask. `before_last_answer` runs when the front has handed
  /// over everything, and waits for the answer to its last question. False when the front hangs up.
  bool shake_hands(const std::function<void()>& before_last_answer = {});

  std::span<const Descriptor> files() const { return files_; }
  std::span<const std::span<std::byte>> lent() const { return lent_; }

  // --- After the front has handed over everything ---

  /// Writes a frame to the front, once; at most as long as one of its buffers. False without a buffer.
  bool send(std::span<const std::byte> frame);
  /// The first frame that the front sends; empty when none comes in time.
  std::vector<std::byte> receive(std::chrono::milliseconds patience);

 private:
  struct Ring {
    vhost::RingAddress address{};
    std::uint32_t size = 0;
    std::uint16_t base = 0;  // where the front was when it let us in
  };
  struct Buffer {
    std::uint16_t descriptor = 0;
    std::span<std::byte> bytes{};
  };

  void note(const vhost::Message& message);
  bool map_memory();
  std::byte* at(std::uint64_t address) const;
  std::optional<Buffer> next_buffer(const Ring& ring) const;
  std::size_t header_bytes() const;

  Descriptor connection_;
  std::vector<Descriptor> files_;
  std::vector<Descriptor> descriptors_;  // of rings: the front may signal them
  std::vector<std::span<std::byte>> lent_;
  std::uint64_t front_start_ = 0;  // of the lent memory, in the front's process
  std::uint64_t features_ = 0;
  std::array<Ring, 2> rings_{};  // the front's receive ring, and its transmit ring
};

}  // namespace urnic::drivers
