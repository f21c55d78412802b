// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A mount namespace of this process and its children.
#pragma once

#include <cstdint>
#include <string>

#include "transport/result.h"

namespace urnic::tools {

/// How a process gets one.
enum class NamespaceWay : std::uint8_t {
  kPlain,      ///< it may mount anyway (CAP_SYS_ADMIN): nothing else changes
  kUser,       ///< with a user namespace of its own, in which it is the same user
  kForbidden,  ///< not at all
};

/// What would happen, tried in a child.
struct NamespaceProbe {
  NamespaceWay way = NamespaceWay::kForbidden;
  std::string reason;  ///< of kForbidden, for a person
};
NamespaceProbe probe_mount_namespace();

/// Gives this process, which must have one thread, a mount namespace of its own. What the host mounts later
/// is seen in it; what is mounted in it the host does not see.
///
/// A user namespace is made only where there is no other way, because it changes more: programs that change
/// the user (sudo) do not work in it, other groups of the user have no name, and no process outside of it
/// may read the memory of those inside unless it is root (process_vm_readv, ptrace) or of the user who made
/// it. The error says why it cannot be; then nothing has changed, except that the process may be in a user
/// namespace, as the same user.
Result<NamespaceWay, Error> enter_mount_namespace();

}  // namespace urnic::tools
