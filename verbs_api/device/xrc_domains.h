// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XrcDomains: the XRC domains of a process, some of which are known by a file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "nic/device/device.h"
#include "nic/queues/xrc_domain.h"
#include "transport/result.h"

namespace urnic::verbs_api {

/// All contexts of the process that open a domain by the same file get the same one. Other processes do not:
/// a domain is one of a device, and each process has a device of its own. Any thread.
class XrcDomains {
 public:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const File&, const File&) = default;
  };

  /// Without a file a new domain. With one, EAGAIN: there is none yet, and `flags` lack O_CREAT; EINVAL:
  /// there is one although they have O_EXCL.
  Result<nic::XrcDomain*, Error> open(nic::Device& nic, const std::optional<File>& file, int flags);

  /// Ends the domain when its last opener closes it. EBUSY, with everything as it was, while anything is in
  /// it.
  Result<void, Error> close(nic::Device& nic, const nic::XrcDomain& domain);

 private:
  struct Entry {
    std::optional<File> file;
    std::unique_ptr<nic::XrcDomain> domain;
    std::size_t openings = 1;
  };

  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace urnic::verbs_api
