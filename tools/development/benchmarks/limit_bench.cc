// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// limit_bench: what two processes on two cores reach at best, with one copy and one CRC-32 on each side of a
// shared ring.
//
// Nothing of a NIC is in it, nor anything of ours: no wire between two programs on this machine can be
// faster. Prints JSON: for each size of a packet in bytes the bandwidth in Gb/s, millions of packets a
// second, and half a round trip in microseconds; the caller computes medians.
//
// With --piece it answers another question: whether a sender gains by computing the CRC of each piece as soon
// as it is copied.
#include <isa-l/crc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxBytes = 4352;
/// Of what each process reads from or writes to, as a program's buffer: it stays in the second cache.
constexpr std::size_t kBufferBytes = 128 << 10;
/// Heads and tails are shown after so many packets.
constexpr std::uint64_t kBatch = 8;

template <std::size_t slots>
struct Ring {
  alignas(128) std::atomic<std::uint64_t> head;
  alignas(128) std::atomic<std::uint64_t> tail;
  alignas(128) std::byte slot[slots][kMaxBytes];
};

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// The processors that this process may use: the first and the last of them.
std::pair<int, int> two_cores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return {cores.front(), cores.back()};
}

std::uint32_t crc_of(const std::byte* bytes, std::size_t size, std::uint32_t before = 0) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes), size);
}

/// 32 bytes at a time, as the NIC copies where there is AVX; glibc's memcpy has other ways for what is large.
#ifdef __x86_64__
[[gnu::target("avx")]]
#endif
void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t size) {
  using Vector [[gnu::vector_size(32)]] = unsigned char;
  std::size_t at = 0;
  for (; at + sizeof(Vector) <= size; at += sizeof(Vector)) {
    Vector vector;
    std::memcpy(&vector, from + at, sizeof vector);
    std::memcpy(to + at, &vector, sizeof vector);
  }
  std::memcpy(to + at, from + at, size - at);
}

/// How a packet gets into the ring; returns its CRC.
struct Sender {
  bool by_vectors = false;
  /// Bytes that are copied before their CRC is computed, of what was copied; 0: all, and the CRC of the
  /// source.
  std::size_t piece = 0;

  std::uint32_t operator()(std::byte* slot, const std::byte* packet, std::size_t bytes) const {
    if (piece == 0) {
      copy(slot, packet, bytes);
      return crc_of(packet, bytes);
    }
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < bytes; at += piece) {
      const std::size_t size = std::min(piece, bytes - at);
      copy(slot + at, packet + at, size);
      crc = crc_of(slot + at, size, crc);
    }
    return crc;
  }

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t size) const {
    if (by_vectors) return copy_by_vectors(to, from, size);
    std::memcpy(to, from, size);
  }
};

template <typename Shared>
class Memory {
 public:
  Memory() {
    void* const start = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) {
      std::perror("limit_bench: no shared memory");
      std::exit(1);
    }
    shared_ = static_cast<Shared*>(start);  // zeros
  }
  ~Memory() { munmap(shared_, sizeof(Shared)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Shared* operator->() { return shared_; }
  Shared& operator*() { return *shared_; }

 private:
  Shared* shared_;
};

/// A buffer whose packets lie one after the other, and begin again at its end.
class Buffer {
 public:
  explicit Buffer(std::size_t packet) : packet_(packet), bytes_(kBufferBytes, std::byte{3}) {}
  std::byte* next() {
    std::byte* const here = bytes_.data() + at_;
    at_ += packet_;
    if (at_ + packet_ > bytes_.size()) at_ = 0;
    return here;
  }

 private:
  std::size_t packet_;
  std::size_t at_ = 0;
  std::vector<std::byte> bytes_;
};

/// Runs `other` in a second process and `own` in this one; how long both took, in seconds.
template <typename Own, typename Other>
double run_both(Own&& own, Other&& other) {
  const auto [first, last] = two_cores();
  const pid_t child = fork();
  if (child == 0) {
    pin_to(last);
    other();
    _exit(0);
  }
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  pin_to(first);
  const auto begin = Clock::now();
  own();
  int status = 0;
  waitpid(child, &status, 0);
  const std::chrono::duration<double> took = Clock::now() - begin;
  sched_setaffinity(0, sizeof before, &before);
  return took.count();
}

/// Packets a second.
double stream(const Sender& put, std::size_t bytes, std::uint64_t packets) {
  constexpr std::size_t kSlots = 512;
  Memory<Ring<kSlots>> memory;
  Ring<kSlots>& ring = *memory;
  volatile std::uint32_t kept = 0;  // so that no CRC is left out
  const auto send = [&] {
    Buffer buffer(bytes);
    std::uint64_t tail = 0;
    std::uint32_t crc = 0;
    for (std::uint64_t head = 0; head < packets; ++head) {
      while (head - tail >= kSlots) tail = ring.tail.load(std::memory_order_acquire);
      std::byte* const slot = ring.slot[head % kSlots];
      crc ^= put(slot, buffer.next(), bytes);
      if (head % kBatch == kBatch - 1) ring.head.store(head + 1, std::memory_order_release);
    }
    ring.head.store(packets, std::memory_order_release);
    kept = crc;
  };
  const auto receive = [&] {
    Buffer buffer(bytes);
    std::uint32_t crc = 0;
    for (std::uint64_t tail = 0; tail < packets;) {
      const std::uint64_t head = ring.head.load(std::memory_order_acquire);
      for (; tail < head; ++tail) {
        const std::byte* const slot = ring.slot[tail % kSlots];
        crc ^= crc_of(slot, bytes);
        std::memcpy(buffer.next(), slot, bytes);
        if (tail % kBatch == kBatch - 1) ring.tail.store(tail + 1, std::memory_order_release);
      }
      ring.tail.store(tail, std::memory_order_release);
    }
    kept = crc;
  };
  return static_cast<double>(packets) / run_both(send, receive);
}

/// Seconds of half a round trip.
double ping_pong(std::size_t bytes, std::uint64_t rounds) {
  constexpr std::size_t kSlots = 8;
  struct Both {
    Ring<kSlots> way[2];
  };
  Memory<Both> memory;
  volatile std::uint32_t kept = 0;
  const auto play = [&](int own, bool begins) {
    Ring<kSlots>& out = memory->way[own];
    Ring<kSlots>& in = memory->way[1 - own];
    Buffer buffer(bytes);
    std::uint32_t crc = 0;
    const auto send = [&](std::uint64_t i) {
      std::byte* const slot = out.slot[i % kSlots];
      std::memcpy(slot, buffer.next(), bytes);
      crc ^= crc_of(slot, bytes);
      out.head.store(i + 1, std::memory_order_release);
    };
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (begins) send(i);
      while (in.head.load(std::memory_order_acquire) <= i) {
      }
      const std::byte* const slot = in.slot[i % kSlots];
      crc ^= crc_of(slot, bytes);
      std::memcpy(buffer.next(), slot, bytes);
      if (!begins) send(i);
    }
    kept = crc;
  };
  return run_both([&] { play(0, true); }, [&] { play(1, false); }) / static_cast<double>(rounds) / 2;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app(
      "What two processes on two cores reach at best, with one copy and one CRC-32 on each side of a shared "
      "ring.");
  std::vector<std::size_t> sizes;
  Sender sender;
  app.add_option("BYTES", sizes, "sizes of packets")
      ->required()
      ->check(CLI::Range(std::size_t{1}, kMaxBytes));
  app.add_option("--piece", sender.piece,
                 "the sender copies so many bytes, then computes their CRC, and so on; only the bandwidth is "
                 "measured")
      ->check(CLI::Range(std::size_t{1}, kMaxBytes));
  app.add_flag("--vectors", sender.by_vectors,
               "the sender copies 32 bytes at a time, as the NIC does, and not by memcpy");
  CLI11_PARSE(app, count, words);

  nlohmann::json found = nlohmann::json::object();
  for (const std::size_t size : sizes) {
    const double rate = stream(sender, size, 2'000'000'000 / (size + 400));
    auto& row = found[std::to_string(size)];
    row = {{"gbps", rate * static_cast<double>(size) * 8 / 1e9}, {"mpps", rate / 1e6}};
    if (sender.piece == 0) row["half_round_trip_us"] = ping_pong(size, 500'000) * 1e6;
  }
  std::puts(found.dump().c_str());
  return 0;
}
