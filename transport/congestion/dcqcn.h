// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Dcqcn: slows down by CNPs, as cards do.
#pragma once

#include <cstdint>

#include "transport/congestion/controller.h"
#include "transport/congestion/dcqcn_parameters.h"
#include "transport/congestion/rate.h"
#include "transport/time.h"

namespace urnic::transport::congestion {

/// The reaction point of DCQCN with the timers of cards (A2 of the congestion facts): CNPs only leave marks,
/// which a free-running check turns into a cut of the rate; a timer, and where it is in use a byte counter,
/// raise it again. Integers throughout: rates in bit/s, alpha in units of 2^-16, rounded down
/// (tests/congestion/README.md).
class Dcqcn final : public Controller {
 public:
  /// `line_rate` is not 0; `parameters` are valid (is_valid()).
  Dcqcn(BitsPerSecond line_rate, const DcqcnParameters& parameters);

  void on_send(std::uint32_t bytes, Time now) override;
  bool on_cnp(Time now) override;
  /// Rate and target are clamped to what there is between rpg_min_rate and the new cap; before the first CNP
  /// they are the cap.
  void update(const Choice& choice, Time now) override;
  Allowance allowance(Time now) override;
  ControllerState state(Time now) override;

  // --- For people who watch, as of the last call ---

  BitsPerSecond rate() const { return rate_; }
  BitsPerSecond target() const { return target_; }
  std::uint32_t alpha() const { return alpha_; }
  std::uint64_t stage() const { return stage_; }
  std::uint64_t byte_stage() const { return byte_stage_; }

 private:
  void catch_up(Time now);
  void begin(Time now);
  void update_alpha();
  void check_for_cut(Time at);
  void cut(Time at);
  void on_increase_timer(Time now);
  bool counts_bytes() const { return parameters_.rpg_byte_reset != 0; }
  BitsPerSecond step(std::uint64_t own_stage) const;
  void increase(std::uint64_t& own_stage);

  DcqcnParameters parameters_;
  BitsPerSecond cap_;
  BitsPerSecond rate_;
  BitsPerSecond target_;
  std::uint32_t alpha_ = 0;
  std::uint64_t stage_ = 0;
  std::uint64_t byte_stage_ = 0;
  std::uint64_t bytes_ = 0;  // since the last step of the byte counter
  bool has_cnp_for_alpha_ = false;
  bool has_cnp_for_cut_ = false;
  // The next tick of each timer; kNever before the first CNP, of the increase before the first cut.
  Time alpha_at_ = kNever;
  Time check_at_ = kNever;
  Time increase_at_ = kNever;
};

}  // namespace urnic::transport::congestion
