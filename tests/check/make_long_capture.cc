// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Writes a long capture of healthy connections, to measure how fast `urnic check` is and that it stays small.
//
//   make_long_capture FILE MEGABYTES [PATH_MTU [CONNECTIONS]]      1024 and 4 by default
//
// Every connection writes, sends and reads 64 KiB in turns; the connections take turns by message.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "drivers/pcap/pcap_writer.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::test {
namespace {

using namespace transport::wire;
using transport::Psn;
using transport::QpNumber;
using transport::Rkey;

constexpr std::size_t kMessageBytes = 65536;
constexpr std::uint8_t kAck = 0x1f;

class Recording {
 public:
  Recording(drivers::PcapWriter& writer, std::size_t mtu) : writer_(writer), mtu_(mtu), payload_(mtu) {
    for (std::size_t i = 0; i < payload_.size(); ++i) payload_[i] = static_cast<std::byte>(i * 7);
  }

  /// One connection's next message and its answer.
  void add_message(std::size_t connection, std::size_t round) {
    if (psns_.size() <= connection) {
      psns_.resize(connection + 1, Psn(static_cast<std::uint32_t>(connection * 0x30000)));
      msns_.resize(connection + 1);
    }
    connection_ = connection;
    ++msns_[connection];
    switch (round % 3) {
      case 0:
        return add_burst(Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast);
      case 1:
        return add_burst(Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLast);
      default:
        return add_read();
    }
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t packets() const { return kMessageBytes / mtu_; }

  void add_burst(Opcode first, Opcode middle, Opcode last) {
    for (std::size_t i = 0; i < packets(); ++i) {
      const Opcode opcode = i == 0 ? first : i + 1 == packets() ? last : middle;
      add(true,
          {.bth = {.opcode = opcode, .ack_request = opcode == last}, .reth = {.length = kMessageBytes}});
      psns_[connection_] = psns_[connection_] + 1;
    }
    psns_[connection_] = psns_[connection_] - 1;
    add(false, {.bth = {.opcode = Opcode::kRcAcknowledge}});
    psns_[connection_] = psns_[connection_] + 1;
  }

  void add_read() {
    add(true,
        {.bth = {.opcode = Opcode::kRcReadRequest, .ack_request = true}, .reth = {.length = kMessageBytes}});
    for (std::size_t i = 0; i < packets(); ++i) {
      add(false, {.bth = {.opcode = i == 0               ? Opcode::kRcReadResponseFirst
                                    : i + 1 == packets() ? Opcode::kRcReadResponseLast
                                                         : Opcode::kRcReadResponseMiddle}});
      psns_[connection_] = psns_[connection_] + 1;
    }
  }

  void add(bool forward, Packet packet) {
    packet.bth.psn = psns_[connection_];
    packet.bth.destination_qp = static_cast<QpNumber>(0x100 + connection_ * 2 + (forward ? 1 : 0));
    packet.aeth = {.syndrome = kAck, .msn = msns_[connection_] & 0xffffff};
    packet.reth.rkey = Rkey{0x1234};
    std::vector<std::byte>& ib = ib_;
    ib.assign(header_bytes(packet.bth.opcode), std::byte{0});
    emit_headers(packet, ib);
    if (info(packet.bth.opcode).has_payload) ib.insert(ib.end(), payload_.begin(), payload_.end());
    const Ipv4Address here{{10, 0, 0, 1}};
    const Ipv4Address there{{10, 0, 0, 2}};
    Frame frame{.ethernet = {.ether_type = EtherType::kIpv4},
                .ip = Ipv4{.identification = ++identification_,
                           .source = forward ? here : there,
                           .destination = forward ? there : here},
                .udp = {.source_port = 0xc123},
                .ib = ib};
    frame.ethernet.source.octets[5] = frame.ethernet.destination.octets[5] = 2;
    frame.icrc = icrc_of(frame);
    std::array<std::byte, 8192> out;
    const std::size_t size = emit_frame(frame, out);
    time_ += std::chrono::nanoseconds(300);
    writer_.add(std::span(out).first(size), time_, drivers::FrameDirection::kSent, {});
    bytes_ += size + 16;
  }

  drivers::PcapWriter& writer_;
  std::size_t mtu_;
  std::vector<std::byte> payload_;
  std::vector<std::byte> ib_;
  std::vector<Psn> psns_;
  std::vector<std::uint32_t> msns_;
  std::size_t connection_ = 0;
  std::uint16_t identification_ = 0;
  std::chrono::nanoseconds time_ = std::chrono::hours(24 * 365 * 50);
  std::size_t bytes_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  const auto number = [&arguments](std::size_t at, std::size_t otherwise) {
    return at < arguments.size() ? std::strtoull(arguments[at].c_str(), nullptr, 10) : otherwise;
  };
  const std::size_t megabytes = number(1, 0);
  const std::size_t mtu = number(2, 1024);
  const std::size_t connections = number(3, 4);
  if (megabytes == 0 || mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0 || connections == 0) {
    std::fputs("make_long_capture FILE MEGABYTES [PATH_MTU [CONNECTIONS]]\n", stderr);
    return 2;
  }
  const auto writer = drivers::PcapWriter::create(arguments[0]);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 1;
  }
  Recording recording(*writer.value(), mtu);
  for (std::size_t round = 0; recording.bytes() < megabytes * 1'000'000; ++round) {
    for (std::size_t connection = 0; connection < connections; ++connection) {
      recording.add_message(connection, round);
    }
  }
  return writer.value()->file().has_stopped() ? 1 : 0;
}

}  // namespace
}  // namespace urnic::test

int main(int argc, char** argv) {
  return urnic::test::run({argv + 1, argv + argc});
}
