// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/process_state.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace urnic::nic {
namespace {

struct ProcessState {
  char letter = 0;  ///< as /proc has it; 0: there is no such process
  unsigned long flags = 0;
};

// "12 (a name) S 1 12 12 0 -1 4194560 ...": after the name, which may contain anything, the state, five
// numbers and the flags.
ProcessState read_state(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  ProcessState state;
  long ignored = 0;
  words >> state.letter;
  for (int i = 0; i < 5; ++i) words >> ignored;
  words >> state.flags;
  return state;
}

}  // namespace

// A zombie is a process whose first thread has ended: others of it may not have.
bool is_ending(int process) {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of Linux' include/linux/sched.h
  const ProcessState state = read_state(process);
  return state.letter == 'Z' || state.letter == 'X' || (state.flags & kExiting) != 0;
}

bool is_stopped(int process) {
  const char letter = read_state(process).letter;
  return letter == 'T' || letter == 't';
}

}  // namespace urnic::nic
