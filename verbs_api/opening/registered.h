// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the registry of objects lists.
#pragma once

namespace urnic::verbs_api {

/// An object as its verb gave it out: the registry has the address of libibverbs' struct.
template <typename Abi>
Abi* as(const void* object) {
  return static_cast<Abi*>(const_cast<void*>(object));
}

}  // namespace urnic::verbs_api
