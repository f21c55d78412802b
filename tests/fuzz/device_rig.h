// DeviceRig: a device with connected queue pairs whose peer is a fuzzer, and all that must hold whatever it
// sends.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "nic/clock.h"
#include "nic/completion_queue.h"
#include "nic/device.h"
#include "nic/neighbor_cache.h"
#include "nic/path.h"
#include "nic/queue_pair.h"

namespace urnic::test {

/// Aborts with a line on stderr unless `holds`.
void require(bool holds, const char* what);

/// The wire between the device and the fuzzer. Frames to the device lie in memory of exactly their size.
struct FuzzWire {
  std::deque<std::vector<std::byte>> to_device;
  std::size_t room = ~std::size_t{0};  ///< frames that it still takes from the device
  std::size_t taken = 0;               ///< frames taken, ever
};

class FuzzClock final : public nic::Clock {
 public:
  transport::Time now() const override { return time; }
  transport::Time time{std::chrono::hours(1)};
};

/// Three RC queue pairs in RTS: two over IPv4, one over IPv6. One region that the peer may read and write,
/// one that only we write to (receives and READs go there), one that nobody may write to. Methods abort when
/// a promise is broken:
///   - memory outside of the regions and in the third never changes;
///   - every frame sent is well formed, and a bounded number leaves per round;
///   - a work request completes once, or not at all when its queue pair is reset; a successful completion is
///   of the
///     kind and not longer than what was posted;
///   - at the end everything posted has completed.
class DeviceRig {
 public:
  static constexpr std::size_t kQueuePairs = 3;
  static constexpr std::size_t kRegionBytes = 16384;

  DeviceRig();
  ~DeviceRig();

  nic::QueuePair& qp(std::size_t index) { return *queue_pairs_[index].qp; }
  std::uint64_t remote_address() const { return address_of(kShared); }
  std::uint32_t rkey() const { return regions_[kShared].key; }
  std::uint32_t read_only_rkey() const { return regions_[kConstant].key; }
  FuzzWire& wire() { return *wire_; }
  void pass(transport::Duration duration) { clock_.time += duration; }

  /// A frame arrives, whatever it is.
  void deliver(std::span<const std::byte> frame);
  /// A packet, BTH to padding, arrives in a right frame from the peer of a queue pair.
  void deliver_packet(std::size_t qp_index, std::span<const std::byte> packet);

  // What the program does. Refusals are fine.
  void post_send(std::size_t qp_index, transport::SendOperation operation, std::uint32_t length,
                 bool is_inline);
  void post_receive(std::size_t qp_index, std::uint32_t length);
  /// Through RESET to RTS.
  void reconnect(std::size_t qp_index);

  /// Lets the device work, takes its completions, and checks.
  void run();

 private:
  enum Region : std::size_t { kShared, kOwn, kConstant, kRegions };
  static constexpr std::size_t kGuardBytes = 512;

  struct Connection {
    std::unique_ptr<nic::QueuePair> qp;
    nic::AddressVector peer;
    nic::Path from_peer;
  };
  struct Work {
    std::size_t qp_index = 0;
    transport::CompletionOpcode opcode{};
    std::uint32_t length = 0;
    bool may_vanish = false;  // its queue pair was reset
  };

  std::byte* memory_of(Region region) {
    return arena_.data() + kGuardBytes + region * (kRegionBytes + kGuardBytes);
  }
  std::uint64_t address_of(Region region) const { return 0x100000 * (region + 1); }
  void register_regions();
  void add_connection(std::size_t source_gid_index);
  void connect(Connection& connection);
  std::uint64_t note_work(const Work& work);
  void poll();
  void check_memory() const;
  void check(const transport::Completion& completion, const Work& work) const;

  FuzzClock clock_;
  std::shared_ptr<FuzzWire> wire_;
  std::vector<std::byte> arena_;     // guard, region, guard, region, guard, region, guard
  std::vector<std::byte> original_;  // the same before anything happened
  std::unique_ptr<nic::Device> device_;
  std::unique_ptr<nic::ProtectionDomain> pd_;
  std::unique_ptr<nic::CompletionQueue> cq_;
  std::array<nic::MemoryRegion, kRegions> regions_;
  std::vector<Connection> queue_pairs_;
  std::map<std::uint64_t, Work> outstanding_;  // by wr_id
  std::uint64_t next_wr_id_ = 1;
};

}  // namespace urnic::test
