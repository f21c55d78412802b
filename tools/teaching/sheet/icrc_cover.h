// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the ICRC covers, as the product computes it.
#pragma once

#include "tools/inspection/view/layouts.h"

namespace urnic::sheet {

/// Whether the ICRC is the same whatever this field says: it takes the field for ones, as routers may change
/// it.
bool is_taken_for_ones(const view::Header& header, const view::Field& field);

}  // namespace urnic::sheet
