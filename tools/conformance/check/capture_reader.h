// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads pcap and pcapng files, one frame at a time.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

/// One frame of a capture. The bytes are the reader's and live until the next one is read.
struct RawFrame {
  ByteView bytes;              ///< as far as captured
  std::size_t wire_bytes = 0;  ///< more than bytes.size() when the capture cut the frame short
  std::int64_t time_ns = 0;    ///< since 1970
  std::uint64_t number = 0;    ///< from 1 on, as Wireshark counts
};

/// A capture file, held open. Memory does not grow with the file.
class CaptureReader {
 public:
  /// Opens `path`; when that fails, `why` says so in one line without the path.
  static std::optional<CaptureReader> open(const std::string& path, std::string& why);

  /// The next frame, or nothing at the end and at the first damage; then error() tells which.
  std::optional<RawFrame> next();

  LinkType link_type() const { return link_type_; }
  const std::string& error() const { return error_; }  ///< empty at a proper end
  std::uint64_t position() const;                      ///< bytes read so far, roughly
  std::uint64_t size() const { return size_; }         ///< bytes; 0 for what has no size, like a pipe

 private:
  struct Closer {
    void operator()(pcap_t* pcap) const { pcap_close(pcap); }
  };
  CaptureReader() = default;

  // libpcap reads through stdio, whose usual buffer of 4 KiB would make every few frames a system call. It
  // outlives the file that uses it.
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<pcap_t, Closer> pcap_;
  LinkType link_type_ = LinkType::kEthernet;
  std::string error_;
  std::uint64_t size_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace urnic::check
