// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/stat/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace urnic::tools {

namespace {

constexpr std::size_t kUsualHeight = 24;

// Control sequences of ECMA-48, and the private modes of xterm that every terminal of today knows.
constexpr const char* kEnter =
    "\033[?1049h\033[?25l\033[?7l";  // other screen, no cursor, lines are cut and not wrapped
constexpr const char* kLeave = "\033[?7h\033[?25h\033[?1049l";
constexpr const char* kHome = "\033[H";
constexpr const char* kEraseLine = "\033[K";
constexpr const char* kEraseBelow = "\033[J";

volatile sig_atomic_t is_signaled = 0;

void note_signal(int) {
  is_signaled = 1;
}

void write_out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

Terminal::Terminal() : has_keys_(tcgetattr(STDIN_FILENO, &before_) == 0) {
  struct sigaction action {};
  action.sa_handler = note_signal;  // without SA_RESTART: it ends the wait
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  if (has_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  write_out(kEnter);
}

Terminal::~Terminal() {
  write_out(kLeave);
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t Terminal::height() const {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : kUsualHeight;
}

void Terminal::draw(const std::string& text) const {
  const std::size_t most = height();
  std::string screen = kHome;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size() && lines < most; ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (lines > 0) screen += "\r\n";
    screen.append(text, at, end - at);
    screen += kEraseLine;
    at = end + 1;
  }
  if (lines < most) screen += std::string("\r\n") + kEraseBelow;
  write_out(screen);
}

bool Terminal::wait(std::chrono::milliseconds time) const {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + time;
  while (is_signaled == 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) return true;
    pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (poll(&keys, 1, static_cast<int>(left)) <= 0) continue;
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return false;
  }
  return false;
}

}  // namespace urnic::tools
