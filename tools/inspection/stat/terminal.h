// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Terminal: a screen that is drawn again and again until the person has seen enough.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace urnic::tools {

/// Takes over the terminal of stdin and stdout while it exists: the other screen, no echo, keys as they are
/// pressed; SIGINT, SIGTERM and SIGHUP only end wait(). There is one at a time, on one thread, and stdout is
/// a terminal.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Lines that fit.
  std::size_t height() const;
  /// Shows `text` from the top, cut at the right.
  void draw(const std::string& text) const;
  /// Waits. False when there is to be an end: q, end of input, or a signal.
  bool wait(std::chrono::milliseconds time) const;

 private:
  termios before_{};
  bool has_keys_ = false;  // stdin is a terminal
};

}  // namespace urnic::tools
