// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/packet_filter.h"

#include <cassert>
#include <cstdint>

#include "drivers/udp/packet_numbers.h"

namespace urnic::drivers {
namespace {

// Offsets count from the end of the UDP header, where the program begins to see the packet. A load beyond the
// packet's end ends the program, which then returns 0.
using namespace packet_numbers;
constexpr std::uint32_t kDestinationQpWord = kDestinationQp - 1;  // a byte of flags before its 24 bits

// Where the program's parts begin.
constexpr std::uint8_t kSocketZero = 6;

/// Builds the program: jumps are given by where they lead, and written by how far that is.
class Program {
 public:
  void load(std::uint16_t width, std::uint32_t offset) {
    add({.code = static_cast<std::uint16_t>(BPF_LD | width | BPF_ABS), .jt = 0, .jf = 0, .k = offset});
  }
  void calculate(std::uint16_t operation, std::uint32_t value) {
    add({.code = static_cast<std::uint16_t>(BPF_ALU | operation | BPF_K), .jt = 0, .jf = 0, .k = value});
  }
  void jump_if(std::uint16_t comparison, std::uint32_t value, std::uint8_t to) {
    add({.code = static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K),
         .jt = distance_to(to),
         .jf = 0,
         .k = value});
  }
  void give_back_loaded() { add({.code = BPF_RET | BPF_A, .jt = 0, .jf = 0, .k = 0}); }
  void give_back(std::uint32_t value) { add({.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = value}); }

  std::size_t size() const { return instructions_.size(); }
  std::vector<sock_filter> take() { return std::move(instructions_); }

 private:
  void add(const sock_filter& instruction) { instructions_.push_back(instruction); }
  std::uint8_t distance_to(std::uint8_t to) const {
    assert(to > instructions_.size());
    return static_cast<std::uint8_t>(to - instructions_.size() - 1);
  }

  std::vector<sock_filter> instructions_;
};

}  // namespace

std::vector<sock_filter> make_packet_filter(unsigned sockets) {
  assert(sockets > 0 && sockets <= 256);
  Program program;
  program.load(BPF_W, kDestinationQpWord);
  program.calculate(BPF_AND, 0xffffff);
  program.jump_if(BPF_JEQ, kQpOfManagement, kSocketZero);
  program.calculate(BPF_RSH, 16);
  program.jump_if(BPF_JGE, sockets, kSocketZero);
  program.give_back_loaded();

  assert(program.size() == kSocketZero);
  program.give_back(0);
  return program.take();
}

}  // namespace urnic::drivers
