#include "drivers/pcap/recorder_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using transport::Time;
using transport::wire::Ethernet;
using transport::wire::Gid;
using transport::wire::Mac;

/// The most that a crash may lose while frames come and go.
constexpr transport::Duration kWriteOutInterval = 100ms;

constexpr std::size_t kDestinationQpInBth = 5;
constexpr unsigned kQpBits = 24;

}  // namespace

Result<std::unique_ptr<RecorderPort>, Error> RecorderPort::create(const std::string& path,
                                                                  std::unique_ptr<nic::PacketPort>&& port,
                                                                  const Own& own, const nic::Clock& clock) {
  auto writer = PcapWriter::create(path, port->medium());
  if (!writer) return writer.error();
  return std::unique_ptr<RecorderPort>(
      new RecorderPort(std::move(writer.value()), std::move(port), own, clock));
}

RecorderPort::RecorderPort(std::unique_ptr<PcapWriter> writer, std::unique_ptr<nic::PacketPort> port,
                           const Own& own, const nic::Clock& clock)
    : writer_(std::move(writer)),
      port_(std::move(port)),
      own_(own),
      clock_(clock),
      epoch_(std::chrono::system_clock::now().time_since_epoch() - clock.now().time_since_epoch()),
      written_out_(clock.now()) {
  if (port_->medium() == nic::Medium::kIp) lost_identification_.emplace(port_->max_frame_bytes());
}

void RecorderPort::record(std::span<const std::byte> frame, Time now) {
  writer_->add(frame, epoch_ + now.time_since_epoch());
}

std::size_t RecorderPort::receive(std::span<std::span<const std::byte>> frames) {
  const std::size_t count = port_->receive(frames);
  if (count == 0) return 0;
  const Time now = clock_.now();
  for (const std::span<const std::byte> frame : frames.first(count)) {
    if (is_own(frame)) continue;
    record(lost_identification_ ? lost_identification_->restore(frame) : frame, now);
  }
  return count;
}

bool RecorderPort::is_own(std::span<const std::byte> frame) const {
  if (medium() == nic::Medium::kEthernet) {
    return frame.size() >= Ethernet::kMinBytes &&
           transport::wire::load_address<Mac>(frame, Mac::kBytes) == own_.mac;
  }
  if (own_.numbers.bits != 0) return false;
  const auto parsed = transport::wire::parse_ip_packet(frame);
  return parsed && is_own(parsed.value().source_gid());
}

bool RecorderPort::is_own(const Gid& address) const {
  return std::ranges::find(own_.addresses, address) != own_.addresses.end();
}

/// Whether a packet that leaves will be recorded when it comes.
bool RecorderPort::will_come_back(std::span<const std::byte> frame) const {
  if (own_.numbers.bits == 0) return false;
  const auto parsed = transport::wire::parse_ip_packet(frame);
  if (!parsed || !is_own(parsed.value().destination_gid())) return false;
  const std::uint32_t qp = transport::wire::load_u24(parsed.value().ib, kDestinationQpInBth);
  return own_.numbers.own(qp, kQpBits) == qp;
}

std::span<std::byte> RecorderPort::reserve_to(const transport::wire::Mac& destination) {
  room_ = port_->reserve_to(destination);
  return room_;
}

void RecorderPort::commit(std::size_t length) {
  if (!will_come_back(room_.first(length))) record(room_.first(length), clock_.now());
  port_->commit(length);
}

void RecorderPort::flush() {
  port_->flush();
  if (!writer_->has_unwritten()) return;
  const Time now = clock_.now();
  if (now - written_out_ >= kWriteOutInterval) {
    writer_->write_out();
    written_out_ = now;
  }
}

void RecorderPort::write_out() {
  writer_->write_out();
  port_->write_out();
}

bool RecorderPort::arm() {
  writer_->write_out();
  return port_->arm();
}

std::string RecorderPort::description() const {
  return fmt::format("{}, recorded to {}", port_->description(), writer_->path());
}

}  // namespace urnic::drivers
