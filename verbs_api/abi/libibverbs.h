// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// libibverbs' own header, made ready for defining what it declares. Include this instead of it.
#pragma once

// Definitions inherit the visibility of their declarations: these are the only names we show.
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

// The header hides these functions with macros of the same names.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
