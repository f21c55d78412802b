// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/ring_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "nic/process/memory_file.h"

namespace urnic::drivers {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error memory_error(int code) {
  return Error{.code = code,
               .message = fmt::format("memory for a direct link: {}", std::generic_category().message(code))};
}

}  // namespace

Result<RingMemory, Error> RingMemory::create(std::size_t bytes) {
  Descriptor file(nic::make_memory_file("urnic-link"));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return memory_error(errno);
  }
  return map(std::move(file), bytes);
}

Result<RingMemory, Error> RingMemory::adopt(Descriptor file, std::size_t bytes) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return memory_error(errno);
  const int seals = fcntl(file.get(), F_GET_SEALS);
  const bool keeps_its_size = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  // Huge pages may be missing when they are touched, which would be a SIGBUS.
  struct statfs system {};
  if (fstatfs(file.get(), &system) != 0 || system.f_type == HUGETLBFS_MAGIC) return memory_error(EINVAL);
  if (!keeps_its_size || status.st_size != static_cast<off_t>(bytes)) return memory_error(EINVAL);
  auto memory = map(std::move(file), bytes);
  if (memory) memory.value().close_file();
  return memory;
}

Result<RingMemory, Error> RingMemory::map(Descriptor file, std::size_t bytes) {
  // All of it now: a page fault for a frame would cost more than the frame.
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (start == MAP_FAILED) return memory_error(errno);
  madvise(start, bytes, MADV_DONTFORK);  // a child would keep it after both ends have gone
  return RingMemory(std::move(file), {static_cast<std::byte*>(start), bytes});
}

RingMemory::RingMemory(RingMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

RingMemory::~RingMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace urnic::drivers
