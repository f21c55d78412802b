#!/bin/sh
# Line coverage of transport/rc by its unit tests, from gcov:
#   tests/unit/transport/rc/coverage.sh [BUILD_FOLDER]
# Prints one line per file and every line that no test reaches. Exit code 1 when a test fails or when less than 95 %
# of the lines are reached.
set -eu

source=$(cd "$(dirname "$0")/../../../.." && pwd)
build=${1:-$source/build/coverage}

cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DURNIC_WITH_DPDK=OFF \
  -DCMAKE_CXX_FLAGS="--coverage -fno-inline" >/dev/null
ninja -C "$build" rc_test >/dev/null
find "$build" -name '*.gcda' -delete
"$build/bin/rc_test" --gtest_brief=1

objects=$(find "$build" -path '*urnic_transport.dir*/rc/*.gcda' -o -path '*rc_test.dir*.gcda')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2086
gcov --json-format --stdout $objects >coverage.json
python3 - "$source/transport/rc/" <<'PYTHON'
import json
import sys

prefix = sys.argv[1]
lines = {}  # file -> line -> reached by any translation unit
with open("coverage.json") as reports:
    for report in reports:
        for file in json.loads(report)["files"]:
            if file["file"].startswith(prefix):
                reached = lines.setdefault(file["file"][len(prefix):], {})
                for line in file["lines"]:
                    number = line["line_number"]
                    reached[number] = reached.get(number, False) or line["count"] > 0

total = sum(len(reached) for reached in lines.values())
hit = sum(sum(reached.values()) for reached in lines.values())
for name, reached in sorted(lines.items()):
    missed = sorted(number for number, yes in reached.items() if not yes)
    share = 100 * sum(reached.values()) / len(reached)
    print(f"{share:6.1f} %  {name}" + (f"  not reached: {', '.join(map(str, missed))}" if missed else ""))
print(f"{100 * hit / total:6.1f} %  of {total} lines")
sys.exit(0 if hit >= 0.95 * total else 1)
PYTHON
