// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/capture_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace urnic::drivers {
namespace {

std::uint64_t file_size_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return limit.rlim_cur;
}

/// Writes everything or returns an error number. A raw system call: librspreload wraps glibc's write(), and
/// this runs inside the engine.
int write_all(int fd, const std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const long written = syscall(SYS_write, fd, bytes, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return ENOSPC;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

Error cannot_record(const std::string& path, int code, const char* why) {
  return Error{.code = code, .message = fmt::format("cannot record to '{}': {}", path, why)};
}

}  // namespace

Result<std::unique_ptr<CaptureFile>, Error> CaptureFile::create(const std::string& path) {
  // Not truncated before it is known that no other process writes to it; not blocking, for the case that it
  // is a FIFO. For this user alone: frames carry what is in the program's memory.
  Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  const int fd = file.get();
  if (fd < 0 && errno == ELOOP) {
    return cannot_record(path, ELOOP, "it is a symbolic link, which another user may have made");
  }
  if (fd < 0) return cannot_record(path, errno, std::strerror(errno));
  struct stat status {};
  Error error;
  if (fstat(fd, &status) != 0) {
    error = cannot_record(path, errno, std::strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    error = cannot_record(path, EINVAL, "not a regular file");
  } else if (status.st_uid != geteuid()) {
    error = cannot_record(path, EPERM, "the file belongs to another user");
  } else if (status.st_nlink > 1) {
    error = cannot_record(path, EMLINK, "the file has a second name, which another user may have given it");
  } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    error =
        cannot_record(path, EBUSY, "another process is recording to it; give each process a file of its own");
  } else if (ftruncate(fd, 0) != 0) {
    error = cannot_record(path, errno, std::strerror(errno));
  } else {
    return std::unique_ptr<CaptureFile>(new CaptureFile(std::move(file), path));
  }
  return error;
}

CaptureFile::CaptureFile(Descriptor file, const std::string& path)
    : file_(std::move(file)),
      path_(path),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)),
      max_file_bytes_(file_size_limit()) {}

CaptureFile::~CaptureFile() {
  write_out();
}

Error CaptureFile::cannot_be_written() const {
  return cannot_record(path_, stop_reason_, std::strerror(stop_reason_));
}

bool CaptureFile::begin(std::size_t bytes) {
  if (kBufferBytes - used_ < bytes) write_out();
  return !has_stopped();
}

void CaptureFile::put(std::span<const std::byte> bytes) {
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

void CaptureFile::write_out() {
  if (used_ == 0 || has_stopped()) return;
  const int error =
      used_ > max_file_bytes_ - file_bytes_ ? EFBIG : write_all(file_.get(), buffer_.get(), used_);
  if (error != 0) {
    stop(error);
    return;
  }
  file_bytes_ += used_;
  used_ = 0;
}

void CaptureFile::stop(int error) {
  stop_reason_ = error;
  used_ = 0;
  [[maybe_unused]] const int truncated = ftruncate(file_.get(), static_cast<off_t>(file_bytes_));
  if (file_bytes_ == 0) {
    return;  // create() tells
  }
  char line[512];
  const auto end =
      fmt::format_to_n(line, sizeof line - 1, "urnic: stopped recording to '{}' after {} bytes: {}", path_,
                       file_bytes_, std::strerror(error))
          .out;
  *end = '\n';
  [[maybe_unused]] const long written = syscall(SYS_write, STDERR_FILENO, line, end + 1 - line);
}

}  // namespace urnic::drivers
