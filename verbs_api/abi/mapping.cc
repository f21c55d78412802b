// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/abi/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace urnic::verbs_api {

Result<Mapping, int> Mapping::make(int fd, std::uint64_t offset, std::size_t length, bool writable) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr auto kLast = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (length == 0 || offset > kLast || length > kLast - offset) return EINVAL;
  Mapping made;
  made.skipped_ = offset % page;
  made.length_ = length + made.skipped_;
  void* const pages = mmap(nullptr, made.length_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                           fd, static_cast<off_t>(offset - made.skipped_));
  if (pages == MAP_FAILED) return errno;
  made.pages_ = pages;
  return made;
}

Mapping::~Mapping() {
  if (pages_ != nullptr) munmap(pages_, length_);
}

}  // namespace urnic::verbs_api
