// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A test bench: roce_responder.sv, made a C++ class by Verilator, at the end of `--port bench:PATH`.
//
//     bench PATH [LATENCY_PS]
//
// It serves one urnic after the other, until standard input ends. That has lines for the device's host:
//
//     connect OWN_QP PEER_QP PSN RKEY ADDRESS BYTES PATH_MTU     "connected"
//     poke AT HEX                                                "done"
//     peek AT LENGTH                                             bytes of the memory, in hexadecimal
//     query                                                      1 or 0, whether there is a connection, and
//                                                                the PSN that it expects
//
// It answers each with a line; numbers are decimal. It says "listens" when urnic can come. When an urnic
// goes, it says how many frames the responder has dropped and refused.
#include <fcntl.h>
#include <verilated.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "Vroce_responder.h"
#include "Vroce_responder___024root.h"
#include "drivers/bench/bench_peer.h"

namespace {

constexpr std::uint64_t kPeriodPs = 2'000;
constexpr std::uint64_t kLatencyPs = 1'000'000;
/// How long it waits for a frame, or a grant, until it looks at standard input.
constexpr int kPatienceMs = 2;
constexpr std::size_t kMostBytes = 4300;
constexpr std::size_t kMemoryBytes = sizeof(Vroce_responder___024root::roce_responder__DOT__memory);

class Bench {
 public:
  explicit Bench(const bench_hello& own) : own_(own) {
    model_.reset = 1;
    cycle();
    model_.reset = 0;
  }

  /// Until the urnic at the other end goes.
  void serve(bench_peer& peer) {
    while (true) {
      if (model_.is_idle && input_.empty()) {
        take_commands();
        const int come = bench_idle(&peer, kPatienceMs);
        if (come < 0) return;
        take_frames(peer);
        if (come == 0 || input_.empty()) continue;
      }
      if (!advance(peer)) return;
      take_frames(peer);
      if (!step(peer)) return;
    }
  }

  void report() const {
    std::printf("%u frames were dropped, %u requests refused\n", model_.dropped, model_.refused);
    std::fflush(stdout);
  }

 private:
  void cycle() {
    model_.clock = 0;
    model_.eval();
    model_.clock = 1;
    model_.eval();
  }

  /// By a cycle. Its host may ask while urnic grants nothing. False: urnic is gone.
  bool advance(bench_peer& peer) {
    for (;;) {
      const int waits = bench_advance_within(&peer, peer.now_ps + kPeriodPs, kPatienceMs);
      if (waits <= 0) return waits == 0;
      take_commands();
    }
  }

  void take_frames(bench_peer& peer) {
    std::array<std::uint8_t, kMostBytes> frame;
    while (const std::size_t bytes = bench_receive(&peer, frame.data(), frame.size())) {
      if (bench_answer_arp(frame.data(), bytes, own_.mac, own_.ipv4)) {
        bench_send(&peer, frame.data(), bytes);
      } else {
        input_.insert(input_.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
        ends_.push_back(input_.size());
      }
    }
  }

  /// A cycle: a byte may go in, and one may come out.
  bool step(bench_peer& peer) {
    model_.in_valid = model_.in_ready && fed_ != input_.size();
    if (model_.in_valid) {
      model_.in_data = input_[fed_++];
      model_.in_last = fed_ == ends_[fed_frames_];
      if (model_.in_last) ++fed_frames_;
    }
    if (model_.out_valid) output_.push_back(model_.out_data);
    const bool is_whole = model_.out_last;
    cycle();
    if (fed_ == input_.size()) {
      input_.clear();
      ends_.clear();
      fed_ = fed_frames_ = 0;
    }
    if (!is_whole) return true;
    const int sent = bench_send(&peer, output_.data(), output_.size());
    output_.clear();
    return sent == 0;
  }

  void take_commands() {
    std::array<char, 4096> text;
    ssize_t bytes = 0;
    while ((bytes = read(STDIN_FILENO, text.data(), text.size())) > 0) {
      commands_.append(text.data(), static_cast<std::size_t>(bytes));
    }
    if (bytes == 0) std::exit(0);
    std::size_t begin = 0;
    for (std::size_t end; (end = commands_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      obey(commands_.substr(begin, end - begin));
    }
    commands_.erase(0, begin);
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "connect") {
      connect(words);
    } else if (name == "poke") {
      poke(words);
    } else if (name == "peek") {
      peek(words);
    } else if (name == "query") {
      std::printf("%d %u\n", model_.is_connected, model_.expected_psn);
    } else {
      words.setstate(std::ios::failbit);
    }
    if (words.fail()) {
      std::printf("this is no command: %s\n", line.c_str());
      std::exit(1);
    }
    std::fflush(stdout);
  }

  void connect(std::istringstream& words) {
    std::uint32_t path_mtu = 0;
    words >> model_.own_qp >> model_.peer_qp >> model_.first_psn >> model_.rkey >> model_.address >>
        model_.bytes >> path_mtu;
    model_.path_mtu = static_cast<std::uint16_t>(path_mtu);
    model_.in_valid = 0;
    model_.connect = 1;
    cycle();
    model_.connect = 0;
    std::printf("connected\n");
  }

  /// A place of the memory.
  std::uint8_t& at(std::size_t place) {
    if (place >= kMemoryBytes) {
      std::printf("the memory has no byte %zu\n", place);
      std::exit(1);
    }
    return model_.rootp->roce_responder__DOT__memory[place];
  }

  void poke(std::istringstream& words) {
    std::size_t place = 0;
    std::string digits;
    words >> place >> digits;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      at(place++) = static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16));
    }
    std::printf("done\n");
  }

  void peek(std::istringstream& words) {
    std::size_t place = 0;
    std::size_t length = 0;
    words >> place >> length;
    for (; length > 0; --length) std::printf("%02x", at(place++));
    std::printf("\n");
  }

  const bench_hello own_;
  Vroce_responder model_;
  std::vector<std::uint8_t> input_;  // frames, one after the other
  std::vector<std::size_t> ends_;    // of each in input_
  std::size_t fed_ = 0;
  std::size_t fed_frames_ = 0;
  std::vector<std::uint8_t> output_;  // of the frame that comes out
  std::string commands_;
};

}  // namespace

int main(int argc, char** argv) {
  const int listener = argc == 2 || argc == 3 ? bench_listen(argv[1]) : -1;
  const std::uint64_t latency_ps = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : kLatencyPs;
  if (listener < 0 || latency_ps <= kPeriodPs) {
    std::fprintf(stderr, "usage: bench PATH [LATENCY_PS]\n");
    return 1;
  }
  const bench_hello own{
      .latency_ps = latency_ps, .mac = {2, 0, 10, 77, 0, 2}, .mtu = 4200, .ipv4 = {10, 77, 0, 2}};
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  std::printf("listens\n");
  std::fflush(stdout);
  while (true) {
    const int socket = accept(listener, nullptr, nullptr);
    bench_peer peer;
    if (socket < 0) return 1;
    Bench bench(own);
    if (bench_begin(&peer, socket, &own) == 0) bench.serve(peer);
    std::printf("the link ends: %s\n", bench_why(&peer));
    bench.report();
    bench_close(&peer);
  }
}
