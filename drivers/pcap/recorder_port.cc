// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/recorder_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "drivers/pcap/pcap_writer.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"
#include "transport/wire/headers.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using transport::Time;
using transport::wire::Ethernet;
using transport::wire::Gid;
using transport::wire::Mac;

/// The most that a crash may lose while frames come and go.
constexpr transport::Duration kWriteOutInterval = 100ms;

constexpr unsigned kQpBits = 24;

}  // namespace

Result<std::unique_ptr<RecorderPort>, Error> RecorderPort::create(const std::string& path,
                                                                  std::unique_ptr<nic::PacketPort>&& port,
                                                                  const Own& own, const nic::Clock& clock) {
  auto writer = PcapWriter::create(path, port->medium());
  if (!writer) return writer.error();
  return std::unique_ptr<RecorderPort>(
      new RecorderPort(std::move(writer.value()), nullptr, std::move(port), own, clock));
}

Result<std::unique_ptr<RecorderPort>, Error> RecorderPort::create_with_notes(
    const std::string& path, std::unique_ptr<nic::PacketPort>&& port, const Own& own, const nic::Clock& clock,
    const PcapngWriter::Names& names) {
  auto writer = PcapngWriter::create(path, port->medium(), names);
  if (!writer) return writer.error();
  PcapngWriter* const notes = writer.value().get();
  return std::unique_ptr<RecorderPort>(
      new RecorderPort(std::move(writer.value()), notes, std::move(port), own, clock));
}

RecorderPort::RecorderPort(std::unique_ptr<FrameWriter> writer, PcapngWriter* notes,
                           std::unique_ptr<nic::PacketPort> port, const Own& own, const nic::Clock& clock)
    : PortAround(std::move(port)),
      writer_(std::move(writer)),
      notes_(notes),
      own_(own),
      clock_(clock),
      epoch_(clock.wall_time() - clock.now().time_since_epoch()),
      written_out_(clock.now()) {
  if (inner().medium() == nic::Medium::kIp) lost_identification_.emplace(inner().max_frame_bytes());
}

void RecorderPort::record(std::span<const std::byte> frame, Time now, FrameDirection direction,
                          std::string_view comment) {
  const std::lock_guard guard(mutex_);
  writer_->add(frame, wall_clock(now), direction, comment);
}

void RecorderPort::record_received(std::span<const std::byte> frame, Time now, std::string_view comment) {
  if (is_own(frame)) return;
  record(lost_identification_ ? lost_identification_->restore(frame) : frame, now, FrameDirection::kReceived,
         comment);
}

std::size_t RecorderPort::receive(std::span<nic::ReceivedFrame> frames) {
  while (!received_.empty()) on_frame_done({});
  const std::size_t count = inner().receive(frames);
  if (count == 0) return 0;
  received_at_ = clock_.now();
  received_ = frames.first(count);
  if (notes_ == nullptr) {
    while (!received_.empty()) on_frame_done({});
  }
  return count;
}

void RecorderPort::on_frame_done(std::string_view comment) {
  record_received(received_.front(), received_at_, comment);
  received_ = received_.subspan(1);
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
  const std::uint32_t qp =
      transport::wire::load_u24(parsed.value().ib, transport::wire::Bth::kDestinationQpAt);
  return own_.numbers.own(qp, kQpBits) == qp;
}

nic::Room RecorderPort::reserve_to(const transport::wire::Mac& destination) {
  const nic::Room room = inner().reserve_to(destination).with_icrc();
  room_ = room.bytes();
  return room;
}

void RecorderPort::commit(std::size_t length) {
  const std::span<const std::byte> frame = room_.first(length);
  if (!will_come_back(frame)) record(frame, clock_.now(), FrameDirection::kSent, next_comment_);
  next_comment_.clear();
  inner().commit(length);
}

void RecorderPort::flush() {
  inner().flush();
  const Time now = clock_.now();
  if (now - written_out_ < kWriteOutInterval) return;
  write_out_file();
  written_out_ = now;
}

void RecorderPort::write_out_file() {
  const std::lock_guard guard(mutex_);
  writer_->file().write_out();
}

void RecorderPort::write_out() {
  write_out_file();
  inner().write_out();
}

bool RecorderPort::arm() {
  write_out_file();
  return inner().arm();
}

void RecorderPort::add_note(std::string_view text) {
  const std::lock_guard guard(mutex_);
  notes_->add_note(text);
}

std::string RecorderPort::description() const {
  return fmt::format("{}, recorded to {}", inner().description(), writer_->file().path());
}

}  // namespace urnic::drivers
