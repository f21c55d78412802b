#include "tests/support/fake_dma.h"

#include <algorithm>
#include <cstring>

namespace urnic::transport::test {

void FakeDma::add_region(const Region& region) {
  regions_[region.key] = {.region = region, .memory = pattern(region.address, region.length)};
}

void FakeDma::add_sparse_region(const Region& region) {
  regions_[region.key] = {.region = region, .memory = std::nullopt};
}

Bytes FakeDma::read(std::uint32_t key, std::uint64_t address, std::size_t size) const {
  const Entry& entry = regions_.at(key);
  return slice(entry.memory.value(), address - entry.region.address, size);
}

void FakeDma::write(std::uint32_t key, std::uint64_t address, const Bytes& bytes) {
  Entry& entry = regions_.at(key);
  std::copy(bytes.begin(), bytes.end(), entry.memory.value().data() + (address - entry.region.address));
}

bool FakeDma::is_untouched(std::uint32_t key) const {
  const Entry& entry = regions_.at(key);
  return entry.memory == pattern(entry.region.address, entry.region.length);
}

DmaStatus FakeDma::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to) {
  return copy_out(pd, Access::kNone, {DmaCall::Kind::kReadLocal, to_integer(lkey), address, to.size()}, to);
}

DmaStatus FakeDma::write_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<const std::byte> from) {
  return copy_in(pd, Access::kLocalWrite,
                 {DmaCall::Kind::kWriteLocal, to_integer(lkey), address, from.size()}, from);
}

DmaStatus FakeDma::check_remote(PdId pd, Rkey rkey, std::uint64_t address, std::uint64_t length,
                                Access access) {
  return check(pd, access, {DmaCall::Kind::kCheckRemote, to_integer(rkey), address, length});
}

DmaStatus FakeDma::read_remote(PdId pd, Rkey rkey, std::uint64_t address, std::span<std::byte> to) {
  return copy_out(pd, Access::kRemoteRead, {DmaCall::Kind::kReadRemote, to_integer(rkey), address, to.size()},
                  to);
}

DmaStatus FakeDma::write_remote(PdId pd, Rkey rkey, std::uint64_t address, std::span<const std::byte> from) {
  return copy_in(pd, Access::kRemoteWrite,
                 {DmaCall::Kind::kWriteRemote, to_integer(rkey), address, from.size()}, from);
}

DmaStatus FakeDma::check(PdId pd, Access needed, const DmaCall& call) {
  last_call_ = call;
  const auto found = regions_.find(call.key);
  if (found == regions_.end() || found->second.memory) {
    calls_.push_back(call);
  }
  if (calls_to_failure_ > 0 && --calls_to_failure_ == 0) {
    return DmaStatus::kInvalidKey;
  }
  if (found == regions_.end()) {
    return DmaStatus::kInvalidKey;
  }
  const Region& region = found->second.region;
  if (region.pd != pd) {
    return DmaStatus::kWrongPd;
  }
  const bool is_inside = call.address >= region.address && call.length <= region.length &&
                         call.address - region.address <= region.length - call.length;
  if (!is_inside) {
    return DmaStatus::kOutOfBounds;
  }
  return allows(region.access, needed) ? DmaStatus::kOk : DmaStatus::kNoAccess;
}

DmaStatus FakeDma::copy_out(PdId pd, Access needed, const DmaCall& call, std::span<std::byte> to) {
  const DmaStatus status = check(pd, needed, call);
  if (status != DmaStatus::kOk) {
    return status;
  }
  const Entry& entry = regions_.at(call.key);
  if (entry.memory) {
    std::copy_n(entry.memory->data() + (call.address - entry.region.address), to.size(), to.data());
  } else {
    std::memcpy(to.data(), &call.address, std::min(to.size(), sizeof call.address));
  }
  return status;
}

DmaStatus FakeDma::copy_in(PdId pd, Access needed, const DmaCall& call, std::span<const std::byte> from) {
  const DmaStatus status = check(pd, needed, call);
  if (status != DmaStatus::kOk) {
    return status;
  }
  Entry& entry = regions_.at(call.key);
  if (entry.memory) {
    std::copy(from.begin(), from.end(), entry.memory->data() + (call.address - entry.region.address));
  }
  return status;
}

}  // namespace urnic::transport::test
