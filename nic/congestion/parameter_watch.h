// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ParameterWatch: what programs write to the files of congestion control reaches the device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "nic/congestion/parameter_files.h"
#include "nic/congestion/settings.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// The device, for a watch: called on its thread, and within start().
struct ParameterOwner {
  std::string device;
  std::function<CongestionSettings()> in_force;
  /// With other parameters for the same kind of controller.
  std::function<void(const CongestionSettings&)> update;
  /// Told of each value that is refused, in one line.
  std::function<void(const Error&)> report;
};

/// The plain files that parameter_files() lists, which all processes of a run share: any of them may write
/// one, and each that has the device open watches them. A value is taken when its file is closed. Text that
/// is no value of the parameter is overwritten with the value in force, so that a reader sees the truth. An
/// empty file is overwritten without a message, as a file of sysfs keeps its value when it is opened and
/// closed. A file that is not there, or is no plain file, changes nothing.
///
/// One thread, with all signals blocked, sleeps until a file is closed that was open for writing.
class ParameterWatch {
 public:
  /// From news to the look at it: writes that follow each other closely are one look.
  static constexpr int kPauseMs = 5;

  /// Takes what the files say already, and then what is written. `folder` is the device's, with ecn/ in it.
  /// The error says why files cannot be watched.
  static Result<std::unique_ptr<ParameterWatch>, Error> start(ParameterOwner owner, std::string folder);
  /// Ends the thread, at once.
  ~ParameterWatch();
  ParameterWatch(const ParameterWatch&) = delete;
  ParameterWatch& operator=(const ParameterWatch&) = delete;

  /// In the child of a fork, which has no such thread: gives up `watch` for lost.
  static void abandon_after_fork(std::unique_ptr<ParameterWatch> watch) {
    static_cast<void>(watch.release());
  }

 private:
  ParameterWatch(ParameterOwner owner, std::string folder)
      : owner_(std::move(owner)), folder_(std::move(folder)) {}

  Result<void, Error> open();
  Result<void, Error> start_thread();
  void run();
  void drain();
  /// Whether what is no value is overwritten: on the watch's thread only (File::has_writer()).
  enum class Refusal : std::uint8_t { kLater, kNow };
  void take_values(Refusal refusal);
  void refuse(const ParameterFile& parameter, const std::string& text, Error error);

  ParameterOwner owner_;
  std::string folder_;
  /// Files that could not be overwritten, and what they say.
  std::map<std::string, std::string> left_wrong_;
  Descriptor watch_;  // inotify's
  Descriptor stop_;   // an eventfd
  std::thread thread_;
};

}  // namespace urnic::nic
