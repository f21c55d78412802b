// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ResultLog: results in a file, as they come, so that an interrupted run can go on where it was.
#pragma once

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tools/conformance/conform/results/verdict.h"
#include "transport/result.h"

namespace urnic::conform {

/// The file has a line of JSON for the run, and one for each case. A line that was cut off by the end of a
/// run is written over.
class ResultLog {
 public:
  /// Reads what the file has of these cases, or makes it. An error: it cannot be read or written, is no such
  /// file, or is about another peer or of another version of urnic, whose cases may be others.
  static Result<std::unique_ptr<ResultLog>, Error> open(const std::string& path, const std::string& peer,
                                                        std::span<const Case> cases);

  /// The earlier result of a case; null if it was not played, or could not be judged.
  const CaseResult* find(std::string_view name) const;
  /// False: it cannot be written.
  bool add(const CaseResult& result);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  ResultLog() = default;

  std::map<std::string, CaseResult, std::less<>> earlier_;
  File file_;
};

}  // namespace urnic::conform
