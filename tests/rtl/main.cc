// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A test bench: roce_responder.sv, made a C++ class by Verilator, at the end of `--port bench:PATH`.
//
//     bench PATH
//
// It serves one urnic after the other, until standard input ends. Its lines are connections,
// "OWN_QP PEER_QP PSN RKEY ADDRESS PATH_MTU", in decimal; "connected" answers each. It says "listens" when
// urnic can come. When an urnic goes, it says how many frames the responder has dropped and refused.
#include <fcntl.h>
#include <verilated.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "Vroce_responder.h"
#include "drivers/bench/bench_peer.h"

namespace {

constexpr std::uint64_t kPeriodPs = 2'000;
constexpr bench_hello kOwn{
    .latency_ps = 1'000'000, .mac = {2, 0, 10, 77, 0, 2}, .mtu = 4200, .ipv4 = {10, 77, 0, 2}};
/// How long it waits for a frame until it looks at standard input.
constexpr int kPatienceMs = 2;
constexpr std::size_t kMostBytes = 4300;

class Bench {
 public:
  Bench() {
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
      if (bench_advance(&peer, peer.now_ps + kPeriodPs) != 0) return;
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

  void take_frames(bench_peer& peer) {
    std::array<std::uint8_t, kMostBytes> frame;
    while (const std::size_t bytes = bench_receive(&peer, frame.data(), frame.size())) {
      if (bench_answer_arp(frame.data(), bytes, kOwn.mac, kOwn.ipv4)) {
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
    std::array<char, 256> text;
    const ssize_t bytes = read(STDIN_FILENO, text.data(), text.size());
    if (bytes == 0) std::exit(0);
    if (bytes < 0) return;
    commands_.append(text.data(), static_cast<std::size_t>(bytes));
    for (std::size_t end = commands_.find('\n'); end != std::string::npos; end = commands_.find('\n')) {
      connect(commands_.substr(0, end));
      commands_.erase(0, end + 1);
    }
  }

  void connect(const std::string& command) {
    std::uint32_t own_qp, peer_qp, psn, rkey, path_mtu;
    std::uint64_t address;
    if (std::sscanf(command.c_str(), "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32,
                    &own_qp, &peer_qp, &psn, &rkey, &address, &path_mtu) != 6) {
      std::printf("this is no connection: %s\n", command.c_str());
      std::exit(1);
    }
    model_.own_qp = own_qp;
    model_.peer_qp = peer_qp;
    model_.first_psn = psn;
    model_.rkey = rkey;
    model_.address = address;
    model_.path_mtu = static_cast<std::uint16_t>(path_mtu);
    model_.in_valid = 0;
    model_.connect = 1;
    cycle();
    model_.connect = 0;
    std::printf("connected\n");
    std::fflush(stdout);
  }

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
  const int listener = argc == 2 ? bench_listen(argv[1]) : -1;
  if (listener < 0) {
    std::fprintf(stderr, "usage: bench PATH\n");
    return 1;
  }
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  std::printf("listens\n");
  std::fflush(stdout);
  while (true) {
    const int socket = accept(listener, nullptr, nullptr);
    bench_peer peer;
    if (socket < 0) return 1;
    Bench bench;
    if (bench_begin(&peer, socket, &kOwn) == 0) bench.serve(peer);
    std::printf("the link ends: %s\n", bench_why(&peer));
    bench.report();
    bench_close(&peer);
  }
}
