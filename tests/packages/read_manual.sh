#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Where a package of urnic is installed, as root: user tester finds and reads the page of each command.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

rm -rf /tmp/pages
urnic manual --all /tmp/pages || fail "urnic prints no pages"
mandb --quiet
pages=$(cd /tmp/pages && ls | sed 's/[.]1$//')
for page in $pages; do
  su tester -c "MANPAGER=cat man $page" >/tmp/page 2>&1 || fail "man $page: $(cat /tmp/page)"
  grep -q "^SYNOPSIS" /tmp/page || fail "man $page shows no page: $(cat /tmp/page)"
  su tester -c "whatis $page" >/tmp/whatis 2>&1 || fail "whatis $page: $(cat /tmp/whatis)"
  grep -q "^$page (1) *- [a-z]" /tmp/whatis || fail "whatis $page says: $(cat /tmp/whatis)"
done
for page in urnic urnic-run urnic-doctor; do
  echo "$pages" | grep -qx $page || fail "there is no page $page"
done
rm -r /tmp/pages
echo "  man and whatis know $(echo "$pages" | wc -l) pages"
