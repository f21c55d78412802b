// PcapWriter: a capture file, written without libpcap.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "nic/medium.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Writes classic pcap with nanosecond times. Records gather in one large buffer and go
/// to the file when it is full or at write_out(). When the file cannot be written any more (disk full) it is
/// cut behind the last whole record, one line tells so on stderr, and everything further is dropped.
class PcapWriter {
 public:
  static constexpr std::size_t kBufferBytes = 1u << 20;
  /// Longer frames are cut to this.
  static constexpr std::size_t kSnapBytes = 262144;

  /// Creates the file, for this user alone, with the link type Ethernet, or raw IP where the medium carries IP
  /// packets, or replaces what is in it. Errors: what open() says, not a regular file of this user with one name, a
  /// symbolic link (ELOOP), or another process (or port) is recording to it. Allocates; nothing else does.
  static Result<std::unique_ptr<PcapWriter>, Error> create(const std::string& path,
                                                           nic::Medium medium = nic::Medium::kEthernet);
  /// Writes out what is left.
  ~PcapWriter();
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  /// Adds a frame; `time` since 1970. Blocks only where the file does.
  void add(std::span<const std::byte> frame, std::chrono::nanoseconds time);

  /// Hands the buffer to the kernel, so that the file outlives a crash of this process.
  void write_out();
  bool has_unwritten() const { return used_ > 0; }

  bool has_stopped() const { return stop_reason_ != 0; }
  const std::string& path() const { return path_; }

 private:
  PcapWriter(int fd, const std::string& path, nic::Medium medium);
  void add_file_header(nic::Medium medium);
  void put(std::span<const std::byte> bytes);
  void put_u32(std::uint32_t value);
  void stop(int error);

  int fd_;
  std::string path_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t file_bytes_ = 0;  // whole records in the file
  std::uint64_t max_file_bytes_;  // beyond it the kernel would send SIGXFSZ to the program
  int stop_reason_ = 0;           // an errno value
};

}  // namespace urnic::drivers
