// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CaptureFile: a file that records are appended to, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Records gather in one large buffer and go to the file when it is full or at write_out(). When the file
/// cannot be written any more (disk full), it is cut after the last whole record, one line on stderr says so,
/// and everything further is dropped.
class CaptureFile {
 public:
  static constexpr std::size_t kBufferBytes = 1u << 20;

  /// Creates the file, for this user alone, or replaces what is in it. Errors: what open() says, not a
  /// regular file of this user with one name, a symbolic link (ELOOP), or another process (or port) is
  /// recording to it. Allocates; nothing else does.
  static Result<std::unique_ptr<CaptureFile>, Error> create(const std::string& path);
  /// Writes out what is left.
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  /// Makes room for a record of `bytes`, at most kBufferBytes, which are to be put then. False when nothing
  /// is recorded any more.
  bool begin(std::size_t bytes);
  void put(std::span<const std::byte> bytes);
  /// In the byte order of this machine, as both formats have it; readers tell which by a magic number.
  void put_u16(std::uint16_t value) { put(std::as_bytes(std::span(&value, 1))); }
  void put_u32(std::uint32_t value) { put(std::as_bytes(std::span(&value, 1))); }

  /// Hands the buffer to the kernel, so that the file outlives a crash of this process. Blocks only where the
  /// file does.
  void write_out();
  bool has_unwritten() const { return used_ > 0; }

  bool has_stopped() const { return stop_reason_ != 0; }
  /// Why it has stopped, when that was before the first record.
  Error cannot_be_written() const;
  const std::string& path() const { return path_; }

 private:
  CaptureFile(Descriptor file, const std::string& path);
  void stop(int error);

  Descriptor file_;
  std::string path_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t file_bytes_ = 0;  // whole records in the file
  std::uint64_t max_file_bytes_;  // beyond it the kernel would send SIGXFSZ to the program
  int stop_reason_ = 0;           // an errno value
};

}  // namespace urnic::drivers
