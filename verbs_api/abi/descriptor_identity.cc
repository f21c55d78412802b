// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/abi/descriptor_identity.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace urnic::verbs_api {

std::optional<DescriptorIdentity> DescriptorIdentity::of(int descriptor) {
  const int before = errno;
  struct stat status {};
  const long failed = syscall(SYS_fstat, static_cast<long>(descriptor), &status);
  errno = before;
  if (failed != 0) return std::nullopt;
  return DescriptorIdentity{.device = status.st_dev, .inode = status.st_ino};
}

}  // namespace urnic::verbs_api
