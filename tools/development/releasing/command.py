# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Carries out the checklist of a release, makes its files, and prints what its owner types to publish them.

    tools/development/release --dry-run

There is no other way to run it: it makes no tag and publishes nothing, as a release is its owner's to sign.
Each step is one line. The files are in build/release-VERSION, the logs of long steps in build/test-logs.
The last line is 'N passed, N failed, N skipped', and the exit code is not 0 after a failure.
"""
import argparse
import shutil
import time

from releasing.steps import CHECKS, MAKERS, NOTES, SUMS, Failed, LeftOut, git
from releasing.version import ROOT, folder, version
from testing.log import Log

RIGHT, WRONG, LEFT_OUT, EXPECTED = "ok", "FAILED", "left out", "not yet"


def carry_out(name, step, options):
    """Prints and returns how it ended."""
    began = time.monotonic()
    try:
        said, result = step(Log(f"release-{name}"), options), RIGHT
    except LeftOut as reason:
        said, result = reason, LEFT_OUT
    except Failed as reason:
        said, result = reason, WRONG
        if options.between_releases and name in CHECKS:
            result = EXPECTED
    print(f"{name:<10} {result:<9} {time.monotonic() - began:6.1f} s  {said}", flush=True)
    return result


def commands():
    """What the owner types. No address is among them: git and the host of the project know theirs."""
    place = folder().relative_to(ROOT)
    tag = f"v{version()}"
    return f"""
Nothing has been published. To release urnic {version()}, read {place}/{NOTES}, then:

  git tag -s {tag} -m "urnic {version()}" {git("rev-parse", "--short=12", "HEAD")}
  git push origin {tag}
  gpg --armor --detach-sign {place}/{SUMS}

and put all files of {place} on the page of the release {tag}, with {NOTES} as its text. Beside the
wheel belong the source packages that its share/doc/urnic/bundled names: the licence of libnuma demands it.
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dry-run", action="store_true", required=True, help="do everything except tag and publish"
    )
    parser.add_argument(
        "--without-tests", action="store_true", help="do not run tools/test: it has run on this commit"
    )
    parser.add_argument("--without-image", action="store_true", help="make no image of a container")
    parser.add_argument(
        "--between-releases",
        action="store_true",
        help="try it on any commit: tree, changelog and tag need not be as a release wants them",
    )
    options = parser.parse_args()
    shutil.rmtree(folder(), ignore_errors=True)
    folder().mkdir(parents=True)
    results = [carry_out(name, step, options) for name, step in CHECKS.items()]
    if WRONG not in results:
        for name, step in MAKERS.items():
            results.append(carry_out(name, step, options))
            if results[-1] == WRONG:
                break
    has_failed = WRONG in results
    if not has_failed and EXPECTED not in results:
        print(commands())
    counts = {result: results.count(result) for result in (RIGHT, WRONG, LEFT_OUT, EXPECTED)}
    print(f"{counts[RIGHT]} passed, {counts[WRONG]} failed, {counts[LEFT_OUT] + counts[EXPECTED]} skipped")
    return 1 if has_failed else 0
