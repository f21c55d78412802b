# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Read by the recipes: a folder for what they write, and what was recorded there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v urnic >/dev/null || { echo "$0: urnic is not in the path: PATH=\$PWD/build/release/bin:\$PATH" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The end of a recipe: it has failed if urnic carried nothing, or a packet breaks a rule of the transport.
what_was_recorded() {
  urnic check --lossy --json "$folder"/*.pcap* | python3 -c '
import json, sys
files = json.load(sys.stdin)
packets, right = (sum(file[key] for file in files) for key in ("roce_v2", "icrc_right"))
print(f"urnic carried {packets} packets, {right} with a right ICRC, in {len(files)} recordings:", ", ".join({file["verdict"] for file in files}))
sys.exit(packets == 0 or packets != right or any(file["verdict"] not in ("clean", "habits") for file in files))'
}
