// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/drivers/dpdk/hand_made_back.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/unit/drivers/dpdk/process.h"

namespace urnic::drivers {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using vhost::Request;

namespace {

constexpr std::uint64_t kAllFeatures = ~std::uint64_t{0} & ~(std::uint64_t{1} << 30);

// virtio 1.1, 5.1.6: the header of a frame has two bytes more with one of these.
constexpr std::uint64_t kMergeableBuffers = std::uint64_t{1} << 15;
constexpr std::uint64_t kVersion1 = std::uint64_t{1} << 32;

// virtio 1.1, 2.6: both rings begin with flags and an index, 16 bits each.
constexpr std::size_t kIndexAt = 2;
constexpr std::size_t kEntriesAt = 4;
struct DescriptorEntry {
  std::uint64_t address;
  std::uint32_t length;
  std::uint16_t flags;
  std::uint16_t next;
};
struct UsedEntry {
  std::uint32_t descriptor;
  std::uint32_t length;
};

Descriptor connect_to(const std::string& path) {
  Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto end = Clock::now() + kPatience;
  while (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (Clock::now() > end) return Descriptor();
    std::this_thread::sleep_for(1ms);
  }
  return connection;
}

std::atomic_ref<std::uint16_t> index_of(std::byte* ring) {
  return std::atomic_ref(*reinterpret_cast<std::uint16_t*>(ring + kIndexAt));
}

}  // namespace

HandMadeBack::HandMadeBack(const std::string& path) : connection_(connect_to(path)) {}

HandMadeBack::~HandMadeBack() {
  for (const auto& region : lent_) munmap(region.data(), region.size());
}

bool HandMadeBack::shake_hands(const std::function<void()>& before_last_answer) {
  constexpr int kQuestions = 2;
  for (int asked = 0; asked < kQuestions;) {
    auto message = vhost::receive(connection_.get());
    if (!message) return false;
    note(*message);
    if (message->request == Request::kGetFeatures) {
      const bool is_last = ++asked == kQuestions;
      if (is_last && !map_memory()) return false;
      if (is_last && before_last_answer) before_last_answer();
      vhost::send_reply(connection_.get(), message->request, vhost::bytes_of(kAllFeatures));
    }
    auto& to = message->request == Request::kSetMemoryTable ? files_ : descriptors_;
    std::ranges::move(message->descriptors, std::back_inserter(to));
  }
  return !lent_.empty();
}

void HandMadeBack::note(const vhost::Message& message) {
  if (message.request == Request::kSetFeatures) features_ = message.as<std::uint64_t>().value_or(0);
  if (const auto region = message.as<vhost::OneRegion>(); message.request == Request::kSetMemoryTable) {
    front_start_ = region ? region->user_address : 0;
  }
  const auto address = message.as<vhost::RingAddress>();
  if (message.request == Request::kSetRingAddress && address && address->index < rings_.size()) {
    rings_[address->index].address = *address;
  }
  const auto state = message.as<vhost::RingState>();
  if (!state || state->index >= rings_.size()) return;
  if (message.request == Request::kSetRingSize) rings_[state->index].size = state->number;
  if (message.request == Request::kSetRingBase) {
    rings_[state->index].base = static_cast<std::uint16_t>(state->number);
  }
}

bool HandMadeBack::map_memory() {
  for (const Descriptor& file : files_) {
    struct stat status {};
    fstat(file.get(), &status);
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (start == MAP_FAILED) return false;
    lent_.emplace_back(static_cast<std::byte*>(start), bytes);
  }
  return true;
}

std::byte* HandMadeBack::at(std::uint64_t address) const {
  return lent_.at(0).data() + (address - front_start_);
}

std::optional<HandMadeBack::Buffer> HandMadeBack::next_buffer(const Ring& ring) const {
  std::byte* const available = at(ring.address.available);
  if (index_of(available).load(std::memory_order_acquire) == ring.base) return std::nullopt;
  Buffer buffer;
  std::memcpy(&buffer.descriptor, available + kEntriesAt + ring.base % ring.size * sizeof(std::uint16_t),
              sizeof(std::uint16_t));
  DescriptorEntry entry;
  std::memcpy(&entry, at(ring.address.descriptors) + buffer.descriptor * sizeof entry, sizeof entry);
  buffer.bytes = {at(entry.address), entry.length};
  return buffer;
}

std::size_t HandMadeBack::header_bytes() const {
  return (features_ & (kMergeableBuffers | kVersion1)) != 0 ? 12 : 10;
}

bool HandMadeBack::send(std::span<const std::byte> frame) {
  const Ring& ring = rings_[0];
  const auto buffer = next_buffer(ring);
  const std::size_t bytes = header_bytes() + frame.size();
  if (!buffer || buffer->bytes.size() < bytes) return false;
  std::ranges::fill(buffer->bytes.first(header_bytes()), std::byte{0});
  if (header_bytes() == 12) buffer->bytes[10] = std::byte{1};  // the frame is in one buffer
  std::ranges::copy(frame, buffer->bytes.begin() + static_cast<std::ptrdiff_t>(header_bytes()));
  const UsedEntry entry{.descriptor = buffer->descriptor, .length = static_cast<std::uint32_t>(bytes)};
  std::byte* const used = at(ring.address.used);
  std::memcpy(used + kEntriesAt + ring.base % ring.size * sizeof entry, &entry, sizeof entry);
  index_of(used).store(static_cast<std::uint16_t>(ring.base + 1), std::memory_order_release);
  return true;
}

std::vector<std::byte> HandMadeBack::receive(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  do {
    if (const auto buffer = next_buffer(rings_[1]); buffer && buffer->bytes.size() > header_bytes()) {
      const auto frame = buffer->bytes.subspan(header_bytes());
      return {frame.begin(), frame.end()};
    }
    std::this_thread::sleep_for(1ms);
  } while (Clock::now() < end);
  return {};
}

}  // namespace urnic::drivers
