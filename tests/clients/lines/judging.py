"""What lines of the ladder have in common when they are judged."""
import re

from harness import wait_until


def expect_refusal(test, sides, words, timeout):
    """One of the two programs ends, not with 0, and in the known words."""
    said = lambda: "\n".join(side.output() for side in sides)
    wait_until(lambda: words in said(), timeout)
    if words not in said():
        test.fail_with(f"a refusal expected: {words!r}")
    # The other side may wait for ever for the one that has refused.
    if not wait_until(lambda: any(side.popen.poll() not in (None, 0) for side in sides), 10):
        test.fail_with("a refusal is an exit code other than 0")


def expect_rows(test, side, count):
    """So many lines of results of a perftest program."""
    rows = re.findall(r"^ *\d+ +\d+ +[\d.]+ ", side.output(), re.MULTILINE)
    if len(rows) != count:
        test.fail_with(f"{count} lines of results expected, {len(rows)} found")
