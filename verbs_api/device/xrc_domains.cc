// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/xrc_domains.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace urnic::verbs_api {

Result<nic::XrcDomain*, Error> XrcDomains::open(nic::Device& nic, const std::optional<File>& file,
                                                int flags) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return file && entry.file == file; });
  if (known != entries_.end()) {
    if ((flags & O_EXCL) != 0) return Error{.code = EINVAL, .message = "the file has an XRC domain already"};
    ++known->openings;
    return known->domain.get();
  }
  if (file && (flags & O_CREAT) == 0) {
    return Error{.code = EAGAIN, .message = "this process has not opened an XRC domain by that file"};
  }
  auto domain = nic.open_xrc_domain();
  if (!domain) return domain.error();
  entries_.push_back({.file = file, .domain = std::move(domain).value()});
  return entries_.back().domain.get();
}

Result<void, Error> XrcDomains::close(nic::Device& nic, const nic::XrcDomain& domain) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.domain.get() == &domain; });
  if (known == entries_.end()) return failure(Error{.code = EINVAL, .message = "the XRC domain is not open"});
  if (known->openings > 1) {
    --known->openings;
    return success();
  }
  if (auto closed = nic.close_xrc_domain(known->domain); !closed) return closed;
  entries_.erase(known);
  return success();
}

}  // namespace urnic::verbs_api
