# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether programs of this user can have UDP port 4791 of this host: `urnic doctor` knows."""
import json
import subprocess

CHECK = "UDP port 4791"


def why_not(urnic):
    """Who has it instead, or None."""
    told = subprocess.run([urnic, "doctor", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    for finding in json.loads(told.stdout)["findings"]:
        if finding["check"] == CHECK and finding["verdict"] != "ok":
            return finding["found"]
    return None
