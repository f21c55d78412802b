// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// congestion_trace: plays what stands on its standard input to the congestion controllers, and says what they
// make of it. The lines are described in check_controllers.py, which compares.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <variant>

#include "transport/congestion/choice.h"
#include "transport/congestion/dcqcn.h"
#include "transport/congestion/timely.h"

namespace {

using namespace urnic::transport;
using namespace urnic::transport::congestion;

[[noreturn]] void give_up(const std::string& line) {
  fmt::print(stderr, "congestion_trace: what is '{}'?\n", line);
  std::exit(2);
}

/// The shares that the product has in percent or per mille are fractions in the trace.
double scale_of(const std::string& name) {
  if (name == "beta") return 100;
  return name == "ewma" ? 1000 : 1;
}

template <typename Parameters>
std::uint64_t read(std::istringstream& words, std::span<const Parameter<Parameters>> known,
                   Parameters& parameters) {
  std::uint64_t line_rate = 0;  // 0: none is given
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == "line_rate") {
      line_rate = std::stoull(value);
    } else if (const Parameter<Parameters>* const parameter = find(known, name)) {
      parameters.*parameter->value =
          static_cast<std::uint32_t>(std::llround(std::stod(value) * scale_of(name)));
    } else {
      give_up(word);
    }
  }
  return line_rate;
}

class Trace {
 public:
  void play(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "new") return begin(words);
    const Time now{Duration(std::stoll(first))};
    std::string kind;
    words >> kind;
    if (dcqcn_ != nullptr && kind == "set") {
      read_dcqcn(words);
      dcqcn_->update(choice_, now);
      return print();
    }
    std::uint64_t value = 0;
    words >> value;
    if (dcqcn_ != nullptr) {
      happen(*dcqcn_, kind, value, now);
      print();
    } else if (timely_ != nullptr && kind == "rtt") {
      timely_->on_ack(Duration(static_cast<std::int64_t>(value)), now);
      fmt::print("{:.17g}\n", timely_->rate());
    } else {
      give_up(line);
    }
  }

 private:
  void begin(std::istringstream& words) {
    std::string kind;
    words >> kind;
    dcqcn_.reset();
    timely_.reset();
    if (kind == "dcqcn") {
      choice_.parameters = DcqcnParameters{};
      const DcqcnParameters parameters = read_dcqcn(words);
      dcqcn_ = std::make_unique<Dcqcn>(choice_.line_rate, parameters);
    } else if (kind == "timely") {
      TimelyParameters parameters;
      const std::uint64_t line_rate = read<TimelyParameters>(words, kTimelyParameters, parameters);
      timely_ = std::make_unique<Timely>(line_rate, parameters);
    } else {
      give_up(kind);
    }
  }

  static void happen(Dcqcn& dcqcn, const std::string& kind, std::uint64_t value, Time now) {
    if (kind == "cnp") {
      dcqcn.on_cnp(now);
    } else if (kind == "send") {
      dcqcn.on_send(static_cast<std::uint32_t>(value), now);
    } else if (kind == "look") {
      dcqcn.allowance(now);
    } else {
      give_up(kind);
    }
  }

  /// Changes the parameters of `choice_` that `words` name.
  const DcqcnParameters& read_dcqcn(std::istringstream& words) {
    auto& parameters = std::get<DcqcnParameters>(choice_.parameters);
    const std::uint64_t line_rate = read<DcqcnParameters>(words, kDcqcnParameters, parameters);
    if (line_rate != 0) choice_.line_rate = line_rate;
    return parameters;
  }

  void print() const {
    fmt::print("{} {} {} {} {}\n", dcqcn_->rate(), dcqcn_->target(), dcqcn_->alpha(), dcqcn_->stage(),
               dcqcn_->byte_stage());
  }

  Choice choice_;  // of DCQCN
  std::unique_ptr<Dcqcn> dcqcn_;
  std::unique_ptr<Timely> timely_;
};

}  // namespace

int main() {
  Trace trace;
  for (std::string line; std::getline(std::cin, line);) trace.play(line);
  return 0;
}
