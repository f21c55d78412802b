// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RecorderPort: a port that writes down every frame that passes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/pcap/frame_writer.h"
#include "drivers/pcap/lost_identification.h"
#include "drivers/pcap/pcapng_writer.h"
#include "nic/clock.h"
#include "nic/port/number_share.h"
#include "nic/port/packet_port.h"
#include "nic/port/port_around.h"
#include "nic/recording/journal.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Records what another port receives and sends, in the order in which the engine does, to a capture file for
/// tshark and Wireshark. Frames that come back from ourselves were recorded when they left, and are not
/// again. Where other NICs have our addresses, too, those to our own queue pairs are recorded when they come;
/// what we send to groups and to our own connection manager is there twice. IP packets that are received have
/// the identification that the sender's kernel gave them; those that are sent have 0, also where ours gives
/// another one.
///
/// Recording copies each frame into a buffer; a full buffer is written to the file at once, the rest at
/// flush() every 100 ms and at arm(), before the engine sleeps. These are system calls on the data path: a
/// recorded port is slower.
///
/// Where notes are taken, a received frame is written after the engine has handled it, together with the
/// result.
class RecorderPort final : public nic::PortAround, private nic::Journal {
 public:
  /// This NIC's MAC or, where the port carries IP packets, all its addresses and its share of the numbers.
  struct Own {
    transport::wire::Mac mac;
    std::vector<transport::wire::Gid> addresses = {};
    nic::NumberShare numbers = {};
  };

  /// Takes over `port`, if it succeeds. `clock` must outlive the recorder; times in the file are its
  /// readings, moved to its wall time as that stands now. Errors: the same as PcapWriter::create()'s.
  static Result<std::unique_ptr<RecorderPort>, Error> create(const std::string& path,
                                                             std::unique_ptr<nic::PacketPort>&& port,
                                                             const Own& own, const nic::Clock& clock);
  /// The same in pcapng, with notes.
  static Result<std::unique_ptr<RecorderPort>, Error> create_with_notes(
      const std::string& path, std::unique_ptr<nic::PacketPort>&& port, const Own& own,
      const nic::Clock& clock, const PcapngWriter::Names& names);
  /// Null where no notes are taken.
  nic::Journal* journal() { return notes_ != nullptr ? this : nullptr; }

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  /// For whole frames: what is recorded must be what a wire would carry. What is received must have its ICRC,
  /// too.
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  void write_out() override;
  bool arm() override;
  std::string description() const override;

 private:
  RecorderPort(std::unique_ptr<FrameWriter> writer, PcapngWriter* notes,
               std::unique_ptr<nic::PacketPort> port, const Own& own, const nic::Clock& clock);
  bool is_own(std::span<const std::byte> frame) const;
  bool is_own(const transport::wire::Gid& address) const;
  bool will_come_back(std::span<const std::byte> frame) const;
  void record_received(std::span<const std::byte> frame, transport::Time now, std::string_view comment);
  void record(std::span<const std::byte> frame, transport::Time now, FrameDirection direction,
              std::string_view comment);
  void write_out_file();

  void on_frame_done(std::string_view comment) override;
  void describe_next_sent(std::string_view comment) override { next_comment_ = comment; }
  std::uint64_t last_frame() const override { return notes_->frames(); }
  std::chrono::nanoseconds wall_clock(transport::Time time) const override {
    return epoch_ + time.time_since_epoch();
  }
  void add_note(std::string_view text) override;

  /// Between the engine, which records frames, and threads that post. No thread waits where no notes are
  /// taken.
  std::mutex mutex_;
  std::unique_ptr<FrameWriter> writer_;
  PcapngWriter* const notes_;                       // the writer, if it takes notes; else null
  std::span<const nic::ReceivedFrame> received_{};  // and not written yet
  transport::Time received_at_{};
  std::string next_comment_;
  Own own_;
  std::optional<LostIdentification> lost_identification_;  // where the port carries IP packets
  const nic::Clock& clock_;
  std::chrono::nanoseconds epoch_;  // where the clock's zero is on the wall clock
  transport::Time written_out_;
  std::span<std::byte> room_;  // given to the last reserve()
};

}  // namespace urnic::drivers
