// AcknowledgementDebt: the acknowledgements that a queue pair owes its peer, as completions see them that
// wait for one.
#pragma once

#include <cstdint>

namespace urnic::nic {

/// Acknowledgements leave in order, and the last one covers all before it: so it is enough to number them.
/// Under the engine lock.
class AcknowledgementDebt {
 public:
  /// One more is owed; its number.
  std::uint32_t incur() { return ++incurred_; }
  /// All that were owed have left, or never will.
  void settle() { settled_ = incurred_; }
  bool is_settled(std::uint32_t number) const { return static_cast<std::int32_t>(settled_ - number) >= 0; }

 private:
  std::uint32_t incurred_ = 0;
  std::uint32_t settled_ = 0;
};

}  // namespace urnic::nic
