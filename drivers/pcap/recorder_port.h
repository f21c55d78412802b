// RecorderPort: a port that writes down every frame that passes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/pcap/lost_identification.h"
#include "drivers/pcap/pcap_writer.h"
#include "nic/clock.h"
#include "nic/packet_port.h"
#include "transport/result.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Records what another port receives and sends, in the order in which the engine does, to a capture file for tshark
/// and Wireshark. Frames that come back from ourselves were recorded when they left, and are not again. IP packets
/// that are received have the identification that the sender's kernel gave them; those that are sent have 0, also
/// where ours gives another one.
///
/// Recording copies each frame into a buffer; a full buffer is written to the file at once, the rest at
/// flush() every 100 ms and at arm(), before the engine sleeps. These are system calls on the data path: a
/// recorded port is slower.
class RecorderPort final : public nic::PacketPort {
 public:
  /// Who we are: the MAC, or all addresses where the port carries IP packets.
  struct Own {
    transport::wire::Mac mac;
    std::vector<transport::wire::Gid> addresses = {};
  };

  /// Takes over `port`. `clock` must outlive the recorder; times in the file are its readings, moved to the
  /// wall clock as it stands now. Errors: those of PcapWriter::create(); `port` is then gone.
  static Result<std::unique_ptr<RecorderPort>, Error> create(const std::string& path,
                                                             std::unique_ptr<nic::PacketPort> port,
                                                             const Own& own, const nic::Clock& clock);

  std::size_t receive(std::span<std::span<const std::byte>> frames) override;
  std::span<std::byte> reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override { return port_->is_drained(); }
  void write_out() override;
  nic::Medium medium() const override { return port_->medium(); }
  void set_membership(const transport::wire::Gid& group, bool is_member) override {
    port_->set_membership(group, is_member);
  }
  std::size_t max_frame_bytes() const override { return port_->max_frame_bytes(); }
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override;
  void disarm() override { port_->disarm(); }
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override;

 private:
  RecorderPort(std::unique_ptr<PcapWriter> writer, std::unique_ptr<nic::PacketPort> port, const Own& own,
               const nic::Clock& clock);
  bool is_own(std::span<const std::byte> frame) const;
  void record(std::span<const std::byte> frame, transport::Time now);

  std::unique_ptr<PcapWriter> writer_;
  std::unique_ptr<nic::PacketPort> port_;
  Own own_;
  std::optional<LostIdentification> lost_identification_;  // where the port carries IP packets
  const nic::Clock& clock_;
  std::chrono::nanoseconds epoch_;  // where the clock's zero is on the wall clock
  transport::Time written_out_;
  std::span<std::byte> room_;  // given to the last reserve()
};

}  // namespace urnic::drivers
