// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/kept_files.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "nic/host/port_spec.h"

namespace urnic::tools {
namespace {

using nic::LockFile;

constexpr auto kPatience = std::chrono::milliseconds(20);

bool is_there(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void KeptFiles::keep(unsigned slot) {
  const auto file = LockFile::open(folder_.slot(slot), LockFile::Missing::kFail);
  if (!file) return;
  slots_.insert_or_assign(slot, Slot{.record = nic::read_lease_record(file.value())});
  if (network_.empty()) network_ = contents_of(folder_.network());
}

void KeptFiles::forget(unsigned slot) {
  slots_.erase(slot);
}

bool KeptFiles::is_complete() const {
  for (const auto& [number, slot] : slots_) {
    if (!is_there(folder_.slot(number))) return false;
  }
  return network_.empty() || slots_.empty() || is_there(folder_.network());
}

void KeptFiles::look() {
  if (is_complete()) return;
  const auto wire = nic::LeaseSlots::of({.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = name_});
  if (!wire) return;
  const auto guard = nic::lock_guard(wire.value(), kPatience);
  if (!guard) return;
  for (auto& [number, slot] : slots_) {
    if (!is_there(folder_.slot(number))) make_again(number, slot);
  }
  if (!is_there(folder_.network())) make_network_again();
}

void KeptFiles::make_again(unsigned number, Slot& slot) const {
  auto file = LockFile::open(folder_.slot(number), LockFile::Missing::kCreate);
  if (!file || nic::is_held_elsewhere(file.value())) return;
  if (nic::write_lease_record(file.value(), slot.record)) slot.stand_in = std::move(file.value());
}

void KeptFiles::make_network_again() const {
  const auto file = LockFile::open(folder_.network(), LockFile::Missing::kCreate);
  if (!file) return;
  [[maybe_unused]] const auto written = pwrite(file.value().fd(), network_.data(), network_.size(), 0);
}

}  // namespace urnic::tools
