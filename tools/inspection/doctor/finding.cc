// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/finding.h"

#include <utility>

namespace urnic::tools {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "ok";
    case Verdict::kNote:
      return "note";
    case Verdict::kProblem:
      return "problem";
  }
  return "";
}

Finding good(std::string check, std::string found) {
  return {.check = std::move(check), .verdict = Verdict::kGood, .found = std::move(found), .remedy = ""};
}

Finding note(std::string check, std::string found, std::string remedy) {
  return {.check = std::move(check),
          .verdict = Verdict::kNote,
          .found = std::move(found),
          .remedy = std::move(remedy)};
}

Finding problem(std::string check, std::string found, std::string remedy) {
  return {.check = std::move(check),
          .verdict = Verdict::kProblem,
          .found = std::move(found),
          .remedy = std::move(remedy)};
}

}  // namespace urnic::tools
