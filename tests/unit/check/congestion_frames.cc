// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/check/congestion_frames.h"

#include <algorithm>
#include <initializer_list>

namespace urnic::check::test {
namespace {

constexpr std::size_t kPauseBytes = 60;  // without the frame check sequence

void put(std::vector<std::byte>& bytes, std::size_t at, std::initializer_list<unsigned> octets) {
  for (const unsigned octet : octets) bytes.at(at++) = static_cast<std::byte>(octet);
}

void put_mac(std::vector<std::byte>& bytes, std::size_t at, const Mac& mac) {
  for (const std::uint8_t octet : mac.octets) bytes.at(at++) = std::byte{octet};
}

CapturedFrame control_frame(const Mac& from, std::int64_t time_ns) {
  CapturedFrame frame{
      .bytes = std::vector<std::byte>(kPauseBytes), .bytes_on_wire = kPauseBytes, .time_ns = time_ns};
  put(frame.bytes, 0, {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01});
  put_mac(frame.bytes, 6, from);
  put(frame.bytes, 12, {0x88, 0x08});
  return frame;
}

}  // namespace

std::size_t insert_cnp(Capture& capture, std::size_t behind, std::int64_t after_ns, std::size_t like) {
  const std::size_t number = capture.repeat(like, behind, after_ns);
  capture.edit(number).opcode(0x81).byte(4, 0x40).ack_request(false).psn(0).u32(12, 0).resize(12).seal();
  return number;
}

void mark(Capture& capture, std::size_t number) {
  capture.edit(number).ip_byte(1, 0x03).seal();
}

CapturedFrame pause_frame(const Mac& from, const std::vector<std::pair<unsigned, std::uint16_t>>& quanta,
                          std::int64_t time_ns) {
  CapturedFrame frame = control_frame(from, time_ns);
  put(frame.bytes, 14, {0x01, 0x01});
  for (const auto& [priority, time] : quanta) {
    frame.bytes.at(17) |= static_cast<std::byte>(1u << priority);
    put(frame.bytes, 18 + 2 * priority, {unsigned{time} >> 8, time & 0xffu});
  }
  return frame;
}

CapturedFrame pause_of_all(const Mac& from, std::uint16_t quanta, std::int64_t time_ns) {
  CapturedFrame frame = control_frame(from, time_ns);
  put(frame.bytes, 14, {0x00, 0x01, unsigned{quanta} >> 8, quanta & 0xffu});
  return frame;
}

CapturedFrame frame_of(const Datagram& datagram) {
  static const Capture recording = Capture::fixture("vs_uc_mtu4096");  // frame 1 is a SEND of 0 bytes
  Capture capture = recording;
  capture.keep_first(1);
  put_mac(capture[1].bytes, 0, datagram.to);
  put_mac(capture[1].bytes, 6, datagram.from);
  capture.edit(1)
      .ip_byte(1, static_cast<std::uint8_t>(datagram.dscp << 2 | 2))
      .ip_byte(15, datagram.from.octets[5])
      .ip_byte(19, datagram.to.octets[5])
      .psn(datagram.number)
      .resize(static_cast<std::ptrdiff_t>(datagram.bytes))
      .seal();
  capture[1].time_ns = datagram.time_ns;
  return capture[1];
}

}  // namespace urnic::check::test
