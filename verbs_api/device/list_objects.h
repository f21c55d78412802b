// What the program has made by verbs, for others to see. opening/list_objects.cc, which knows the objects,
// defines it.
#pragma once

#include "nic/diagnostics/program_objects.h"

namespace urnic::verbs_api {

/// Adds the open contexts and what the program has made in them, by number, except memory regions, which the
/// device knows. Any thread.
void list_objects(nic::ProgramObjects& to);

}  // namespace urnic::verbs_api
