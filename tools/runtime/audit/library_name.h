// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which names are a libibverbs. Without the C library, which the auditor does not have.
#pragma once

namespace urnic::audit {

/// What stands in `path` after its last slash.
constexpr const char* file_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

/// The rest of `text` after `begin`; null if it does not begin so.
constexpr const char* rest_after(const char* text, const char* begin) {
  for (; *begin != '\0'; ++text, ++begin) {
    if (*text != *begin) return nullptr;
  }
  return text;
}

/// "libibverbs.so", also with a version after it, and a copy with a hash in its name as auditwheel makes it:
/// "libibverbs-1de1263b.so.1.14.48.0". With a folder before it or without. No other library: not libibverbs's
/// own providers ("libmlx5-rdmav34.so"), nor what only begins with the name ("libibverbs_probe.so").
constexpr bool is_libibverbs(const char* path) {
  const char* rest = rest_after(file_name(path), "libibverbs");
  if (rest == nullptr) return false;
  if (*rest == '-') {
    ++rest;
    while ((*rest >= '0' && *rest <= '9') || (*rest >= 'a' && *rest <= 'f')) ++rest;
  }
  const char* const version = rest_after(rest, ".so");
  return version != nullptr && (*version == '\0' || *version == '.');
}

}  // namespace urnic::audit
