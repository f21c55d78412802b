#include "drivers/pcap/pcap_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace urnic::drivers {
namespace {

// The numbers of the format are in the writer's byte order; readers tell which by the magic.
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kVersion24 = 2u | 4u << 16;
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::uint32_t kLinkTypeRaw = 101;
constexpr std::size_t kRecordHeaderBytes = 16;

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

Result<std::unique_ptr<PcapWriter>, Error> PcapWriter::create(const std::string& path, nic::Medium medium) {
  // Not truncated before it is known that no other process writes to it; not blocking, for the case that it
  // is a FIFO. For this user alone: frames carry what is in the program's memory.
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, S_IRUSR | S_IWUSR);
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
    std::unique_ptr<PcapWriter> writer(new PcapWriter(fd, path, medium));
    if (writer->has_stopped()) {
      return cannot_record(path, writer->stop_reason_, std::strerror(writer->stop_reason_));
    }
    return writer;
  }
  close(fd);
  return error;
}

PcapWriter::PcapWriter(int fd, const std::string& path, nic::Medium medium)
    : fd_(fd),
      path_(path),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)),
      max_file_bytes_(file_size_limit()) {
  add_file_header(medium);
  write_out();
}

PcapWriter::~PcapWriter() {
  write_out();
  close(fd_);
}

void PcapWriter::add_file_header(nic::Medium medium) {
  put_u32(kMagicNanoseconds);
  put_u32(kVersion24);
  put_u32(0);  // offset to UTC, which no reader uses
  put_u32(0);  // accuracy of the times, likewise
  put_u32(kSnapBytes);
  put_u32(medium == nic::Medium::kEthernet ? kLinkTypeEthernet : kLinkTypeRaw);
}

void PcapWriter::add(std::span<const std::byte> frame, std::chrono::nanoseconds time) {
  const std::size_t kept = std::min(frame.size(), kSnapBytes);
  if (kBufferBytes - used_ < kRecordHeaderBytes + kept) write_out();
  if (has_stopped()) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  put_u32(static_cast<std::uint32_t>(seconds.count()));
  put_u32(static_cast<std::uint32_t>((time - seconds).count()));
  put_u32(static_cast<std::uint32_t>(kept));
  put_u32(static_cast<std::uint32_t>(frame.size()));
  put(frame.first(kept));
}

void PcapWriter::put(std::span<const std::byte> bytes) {
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

void PcapWriter::put_u32(std::uint32_t value) {
  put(std::as_bytes(std::span(&value, 1)));
}

void PcapWriter::write_out() {
  if (used_ == 0 || has_stopped()) return;
  const int error = used_ > max_file_bytes_ - file_bytes_ ? EFBIG : write_all(fd_, buffer_.get(), used_);
  if (error != 0) {
    stop(error);
    return;
  }
  file_bytes_ += used_;
  used_ = 0;
}

void PcapWriter::stop(int error) {
  stop_reason_ = error;
  used_ = 0;
  [[maybe_unused]] const int truncated = ftruncate(fd_, static_cast<off_t>(file_bytes_));
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
