// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/memory/buffer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>

#include "verbs_api/device/failure.h"

namespace urnic::verbs_api {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

bool Buffer::contains(const void* address, std::size_t length) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  return from >= begin && from - begin <= size && length <= size - (from - begin);
}

void* alloc_buf(ibv_pd* pd, std::size_t size, Buffer** buffer) {
  if (const int fault = objects().check(pd); fault != 0) return fail(fault);
  if (size == 0 || buffer == nullptr) return fail(EINVAL);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size > std::numeric_limits<std::size_t>::max() - page) return fail(ENOMEM);
  return or_out_of_memory([&]() -> void* {
    std::unique_ptr<void, Free> memory(std::aligned_alloc(page, (size + page - 1) / page * page));
    if (memory == nullptr) return fail(ENOMEM);
    auto created = std::make_unique<Buffer>(Buffer{
        .context = pd->context, .pd = pd, .memory = static_cast<std::byte*>(memory.get()), .size = size});
    objects().add(created.get());
    *buffer = created.release();
    return memory.release();
  });
}

void free_buf(Buffer* buffer) {
  ObjectClaim claim(buffer);
  if (claim.error() != 0) return;
  claim.take_out();
  std::free(buffer->memory);
  delete buffer;
}

int export_buf_dmabuf_fd(Buffer* buffer) {
  const int fault = objects().check(buffer);
  errno = fault != 0 ? fault : ENODATA;
  return -1;
}

}  // namespace urnic::verbs_api
