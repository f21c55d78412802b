// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pause frames of a link, and senders that go on in spite of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/conformance/check/congestion/policy.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/link_frame.h"

namespace urnic::check {

/// Pauses of one priority, or of 802.3x, which stops all priorities at once.
struct PauseCounts {
  std::uint64_t xoff = 0;
  std::uint64_t xon = 0;
  std::int64_t paused_ns = 0;  ///< as long as pauses lasted by their quanta; 0 without a link rate
};

/// One end of a link, as far as its pause frames tell.
struct Pauser {
  static constexpr std::size_t kAll = kPriorities;  ///< the place of 802.3x, after the priorities
  Mac mac;
  std::array<PauseCounts, kPriorities + 1> counts{};
};

/// Takes the frames of one link. Pause frames are not forwarded: each is sent by one end of the link and
/// stops the other.
///
/// Which end sent a RoCE frame follows from its addresses if one end is a host whose addresses are known:
/// from the policy, or because all frames have one address, or because it sends pause frames from that
/// address itself. Judged with a link rate only.
class Pauses {
 public:
  Pauses(Findings& findings, const CongestionPolicy& policy);

  void on_pause(const LinkFrame& frame, std::uint64_t number, std::int64_t time_ns);
  void on_roce(const LinkFrame& frame, std::uint64_t number, std::int64_t time_ns);
  void finish(std::int64_t end_ns);

  /// Two at most: a link has two ends. Further senders are in `others()`.
  std::span<const Pauser> pausers() const { return pausers_; }
  std::uint64_t others() const { return others_; }  ///< pause frames

 private:
  /// Frames that went on.
  struct Late {
    std::uint64_t frames = 0;
    std::uint64_t first_xoff = 0;
    std::uint64_t first_frame = 0;
    std::int64_t longest_ns = 0;  ///< after its XOFF

    void add(std::uint64_t xoff, std::uint64_t frame, std::int64_t behind_ns);
    void add(const Late& other);
  };
  static constexpr std::size_t kHosts = 2;
  /// A pause of one priority, and what its peer did in all of them.
  struct Pause {
    bool is_on = false;
    std::int64_t since_ns = 0;
    std::int64_t until_ns = 0;
    std::uint64_t xoff = 0;                ///< the frame that began it
    Late surely;                           ///< sent by the end that was to stop
    std::array<Late, kHosts> from_host{};  ///< if that is the host of the link
  };
  using State = std::array<Pause, kPriorities + 1>;

  std::optional<std::size_t> index_of(const Mac& sender);
  void set(std::size_t pauser, std::size_t priority, std::uint16_t quanta, std::uint64_t number,
           std::int64_t time_ns);
  void narrow_hosts(const LinkFrame& frame);
  bool is_told(const Mac& mac) const;
  void judge(Pause& pause, const Mac& pauser, const LinkFrame& frame, std::uint64_t number,
             std::int64_t time_ns) const;
  void report(const Pauser& pauser, std::size_t priority, const Pause& pause);

  Findings& findings_;
  std::vector<Mac> told_;      ///< addresses of the host
  double ns_per_quantum_ = 0;  ///< 0: the rate is not known
  std::int64_t tolerance_ns_ = 0;
  std::vector<Pauser> pausers_;
  std::array<State, 2> states_{};
  std::uint64_t others_ = 0;
  /// The addresses that every RoCE frame so far has at one end; one of them is the host's, if the link has a
  /// host.
  struct Host {
    Mac mac;
    bool is_possible = false;
  };
  std::array<Host, kHosts> hosts_{};
  bool has_hosts_ = false;
};

}  // namespace urnic::check
