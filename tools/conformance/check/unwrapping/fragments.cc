// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/unwrapping/fragments.h"

#include <algorithm>
#include <iterator>

namespace urnic::check {
namespace {

constexpr std::size_t kLongestDatagram = 65535;
constexpr std::size_t kFragmentUnit = 8;
constexpr std::size_t kMostRanges = 64;
constexpr std::byte kFlags{0xc0};  // of IPv4, without "more fragments" and the offset
/// A mirror port may deliver the last fragments once more; an identification does not come again so soon.
constexpr std::int64_t kCopyNs = 1'000'000;

ByteView addresses_of(const Datagram& fragment) {
  return fragment.is_ipv6 ? fragment.header.subspan(8, 32) : fragment.header.subspan(12, 8);
}

void store_big_u16(std::vector<std::byte>& bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value & 0xff);
}

}  // namespace

bool Fragments::Waiting::is_of(const Datagram& fragment) const {
  const ByteView own = addresses_of(fragment);
  return identification == fragment.identification && protocol == fragment.protocol &&
         std::equal(addresses.begin(), addresses.end(), own.begin(), own.end());
}

std::optional<WholeDatagram> Fragments::add(const Datagram& fragment, std::int64_t time_ns) {
  const bool has_odd_end = fragment.more_follow && fragment.payload.size() % kFragmentUnit != 0;
  if (fragment.payload.empty() || has_odd_end ||
      fragment.offset + fragment.payload.size() > kLongestDatagram) {
    return std::nullopt;
  }
  give_up_old(time_ns);
  auto found = std::find_if(waiting_.begin(), waiting_.end(),
                            [&fragment](const Waiting& waiting) { return waiting.is_of(fragment); });
  if (found != waiting_.end() && found->is_complete) {
    if (time_ns - found->since_ns <= kCopyNs) return std::nullopt;
    waiting_.erase(found);
    found = waiting_.end();
  }
  if (found != waiting_.end() && !put(*found, fragment)) {
    ++given_up_;
    waiting_.erase(found);
    found = waiting_.end();
  }
  if (found == waiting_.end()) {
    const ByteView addresses = addresses_of(fragment);
    Waiting& waiting = waiting_.emplace_back();
    waiting.addresses.assign(addresses.begin(), addresses.end());
    waiting.protocol = fragment.protocol;
    waiting.identification = fragment.identification;
    waiting.since_ns = time_ns;
    put(waiting, fragment);
    found = std::prev(waiting_.end());
  }
  const bool is_whole = found->length && !found->header.empty() && found->ranges.size() == 1 &&
                        found->ranges.front().from == 0 && found->ranges.front().to == *found->length;
  if (!is_whole) return std::nullopt;
  ++completed_;
  WholeDatagram whole = whole_of(*found, fragment.is_ipv6);
  found->is_complete = true;
  found->since_ns = time_ns;
  found->payload = {};
  return whole;
}

void Fragments::give_up_old(std::int64_t time_ns) {
  while (!waiting_.empty() &&
         (waiting_.size() >= kMostOpen || time_ns - waiting_.front().since_ns > kLongestWaitNs)) {
    given_up_ += waiting_.front().is_complete ? 0 : 1;
    waiting_.pop_front();
  }
}

bool Fragments::put(Waiting& waiting, const Datagram& fragment) {
  const Range own{.from = fragment.offset, .to = fragment.offset + fragment.payload.size()};
  if (!fragment.more_follow) {
    if (waiting.length && *waiting.length != own.to) return false;
    waiting.length = own.to;
  }
  if (waiting.length && own.to > *waiting.length) return false;
  if (!waiting.ranges.empty() && waiting.length && waiting.ranges.back().to > *waiting.length) return false;
  if (fragment.offset == 0 && waiting.header.empty()) {
    const ByteView header = fragment.header.first(fragment.header.size() - fragment.fragment_bytes);
    waiting.header.assign(header.begin(), header.end());
    waiting.protocol_at = fragment.protocol_at;
  }
  std::size_t at = 0;
  while (at < waiting.ranges.size() && waiting.ranges[at].to < own.from) ++at;
  const bool meets = at < waiting.ranges.size() && waiting.ranges[at].from <= own.to;
  if (meets) {
    // A copy of what is there is none of another datagram; what overlaps in part is no honest fragment.
    Range& there = waiting.ranges[at];
    if (there.from <= own.from && own.to <= there.to) {
      return std::equal(fragment.payload.begin(), fragment.payload.end(),
                        waiting.payload.begin() + static_cast<std::ptrdiff_t>(own.from));
    }
    const bool overlaps = own.from < there.to && there.from < own.to;
    const bool has_next = at + 1 < waiting.ranges.size();
    if (overlaps || (has_next && waiting.ranges[at + 1].from < own.to)) return false;
    there = {.from = std::min(there.from, own.from), .to = std::max(there.to, own.to)};
    if (has_next && waiting.ranges[at + 1].from == there.to) {
      there.to = waiting.ranges[at + 1].to;
      waiting.ranges.erase(waiting.ranges.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  } else {
    if (waiting.ranges.size() == kMostRanges) return false;
    waiting.ranges.insert(waiting.ranges.begin() + static_cast<std::ptrdiff_t>(at), own);
  }
  if (waiting.payload.size() < own.to) waiting.payload.resize(own.to);
  std::copy(fragment.payload.begin(), fragment.payload.end(),
            waiting.payload.begin() + static_cast<std::ptrdiff_t>(own.from));
  return true;
}

WholeDatagram Fragments::whole_of(const Waiting& waiting, bool is_ipv6) {
  WholeDatagram whole = waiting.header;
  const std::size_t size = whole.size() + waiting.payload.size();
  if (is_ipv6) {
    whole[waiting.protocol_at] = static_cast<std::byte>(waiting.protocol);
    store_big_u16(whole, 4, std::min<std::size_t>(size - kIpv6Bytes, UINT16_MAX));
  } else {
    store_big_u16(whole, 2, std::min<std::size_t>(size, UINT16_MAX));
    whole[6] &= kFlags;  // the ICRC covers them
    whole[7] = {};
    store_big_u16(whole, 10, 0);  // the checksum: a fragment's says nothing
  }
  whole.insert(whole.end(), waiting.payload.begin(), waiting.payload.end());
  return whole;
}

std::uint64_t Fragments::incomplete() const {
  return given_up_ +
         static_cast<std::uint64_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                                  [](const Waiting& one) { return !one.is_complete; }));
}

}  // namespace urnic::check
