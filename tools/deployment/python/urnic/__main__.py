# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`python -m urnic` is `urnic`."""
from urnic.launcher import main

main()
