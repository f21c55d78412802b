// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads captures, one frame at a time: pcap and pcapng files, and what an interface carries now.
#pragma once

#include <pcap/pcap.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "tools/conformance/check/reading/pcapng.h"
#include "tools/conformance/check/reading/raw_frame.h"
#include "tools/conformance/check/reading/time_order.h"

namespace urnic::check {

/// A capture, held open. Memory does not grow with it.
class CaptureReader {
 public:
  /// Opens `path`; when that fails, `why` says so in one line without the path.
  static std::optional<CaptureReader> open(const std::string& path, std::string& why);
  /// Begins to capture on an interface.
  static std::optional<CaptureReader> open_live(const std::string& interface, std::string& why);

  /// The next frame, or nothing at the end and at the first damage; then error() tells which. Frames of a
  /// file come in the order of their times, as far as TimeOrder reaches; frames of a pipe or an interface as
  /// they arrive.
  std::optional<RawFrame> next();
  /// Ends a capture on an interface: next() still has what the kernel holds back, for 0.2 seconds, and then
  /// nothing any more. May be called by a signal's handler.
  void stop();

  const std::string& error() const { return error_; }  ///< empty at a proper end
  std::uint64_t position() const;                      ///< bytes read so far, roughly
  std::uint64_t size() const { return size_; }         ///< bytes; 0 for what has no size, like a pipe
  /// Frames that an interface had and the kernel had no room for.
  std::uint64_t dropped() const;

 private:
  struct Closer {
    void operator()(pcap_t* pcap) const { pcap_close(pcap); }
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Closer>;
  using Clock = std::chrono::steady_clock;
  CaptureReader() = default;

  bool open_pcap(File file, std::string& why);
  bool take_link_type(std::string& why);
  std::optional<RawFrame> next_in_file();
  ReadResult next_of_pcap(RawFrame& frame, std::string& why);
  /// As pcap_next_ex(), but waits while an interface is silent.
  int next_ex(pcap_pkthdr*& header, const u_char*& data);
  void begin_rest();

  // The file is read through stdio, whose usual buffer of 4 KiB would make every few frames a system call. It
  // outlives the file that uses it.
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<pcap_t, Closer> pcap_;
  File pcapng_file_;
  std::optional<Pcapng> pcapng_;
  std::unique_ptr<TimeOrder> order_;             ///< null: frames come as they are
  LinkType link_type_ = LinkType::kEthernet;     ///< of pcap
  std::optional<Clock::time_point> rest_until_;  ///< set when a capture on an interface was told to end
  std::string error_;
  std::uint64_t size_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace urnic::check
