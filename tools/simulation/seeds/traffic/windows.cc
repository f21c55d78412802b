// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/traffic/windows.h"

#include <algorithm>

namespace urnic::sim {
namespace {

using transport::Access;
using transport::Rkey;
using transport::to_integer;

/// The program chooses the low 8 bits of a window's key.
Rkey next_key(Rkey key) {
  return Rkey{(to_integer(key) & ~0xffu) | ((to_integer(key) + 1) & 0xffu)};
}

}  // namespace

Windows::Windows(Host& host) : host_(host) {
  allocate();
}

Windows::~Windows() {
  deallocate();
}

void Windows::allocate() {
  for (const std::size_t index : {kType1, kType2}) {
    const auto type = index == kType1 ? nic::WindowType::kType1 : nic::WindowType::kType2;
    windows_[index] = {.type = type, .key = host_.allocate_window(type)};
  }
}

void Windows::deallocate() {
  for (const Window& window : windows_) host_.deallocate_window(window.key);
}

void Windows::renew() {
  deallocate();
  allocate();
}

std::optional<Windows::Plan> Windows::plan(std::size_t index, Random& random, bool heedless) const {
  Window window = windows_[index];
  const bool is_open = window.state == State::kOpen;
  if (is_open ? index == kType2 : window.state != State::kClosed) return std::nullopt;
  if (!window.users.empty() && !heedless) return std::nullopt;

  const std::uint32_t size = host_.memory().size(Region::kShared);
  const auto first = random.chance(0.5) ? 0u : static_cast<std::uint32_t>(random.below(size / 2));
  const auto length =
      random.chance(0.5) ? size - first : static_cast<std::uint32_t>(random.between(1, size - first));
  const bool closes = is_open && random.chance(0.2);
  const transport::Rkey old_key = window.key;
  window.key = next_key(old_key);
  window.state = State::kOpening;
  window.range = {.region = Region::kShared, .offset = first, .length = closes ? 0 : length};
  window.access = random.chance(0.7) ? Access::kRemoteRead | Access::kRemoteWrite : Access::kRemoteRead;
  window.is_zero_based = random.chance(0.3);
  return Plan{.window = window,
              .binding = {.window = old_key,
                          .new_rkey = window.key,
                          .region = host_.lkey(Region::kShared),
                          .address = host_.address(window.range),
                          .length = window.range.length,
                          .access = window.access,
                          .is_zero_based = window.is_zero_based}};
}

void Windows::on_posted(std::size_t index, const Plan& plan) {
  windows_[index] = plan.window;
}

void Windows::on_bound(std::size_t index) {
  Window& window = windows_[index];
  window.state = window.range.length > 0 ? State::kOpen : State::kClosed;
}

std::optional<std::size_t> Windows::find_for(const Operation& operation) const {
  if (operation.remote.region != Region::kShared || operation.length == 0) return std::nullopt;
  const Access needed = operation.is_read() ? Access::kRemoteRead : Access::kRemoteWrite;
  for (std::size_t index = 0; index < windows_.size(); ++index) {
    const Window& window = windows_[index];
    const bool covers =
        operation.remote.offset >= window.range.offset &&
        operation.remote.offset + operation.remote.length <= window.range.offset + window.range.length;
    if (window.state == State::kOpen && covers && allows(window.access, needed)) return index;
  }
  return std::nullopt;
}

std::optional<std::size_t> Windows::any_open() const {
  const auto found =
      std::ranges::find_if(windows_, [](const Window& window) { return window.state == State::kOpen; });
  return found == windows_.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - windows_.begin()));
}

std::uint64_t Windows::address(std::size_t index, std::uint32_t offset) const {
  const Window& window = windows_[index];
  if (window.is_zero_based) return offset - window.range.offset;
  return host_.address({.region = Region::kShared, .offset = offset});
}

}  // namespace urnic::sim
