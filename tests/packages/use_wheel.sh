#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# In a clean root of a distribution, as root, with a wheel of urnic in /mnt: runs the workflow of a container
# exactly as it stands, the workflow of a hosted machine, and what a user does by hand.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
top=$PWD
wheel=$(ls /mnt/urnic-*.whl)

apt-get install -y -qq python3-yaml >/tmp/apt 2>&1 || fail "$(tail -5 /tmp/apt)"
# follow FILE: in a project that has a test, and the wheel.
follow() {
  rm -rf /tmp/project
  mkdir /tmp/project
  cp "$top/tests/python/example/test_pingpong.py" "$wheel" /tmp/project
  file=$top/tools/deployment/ci/$1
  (cd /tmp/project && python3 -B "$top/tests/python/run_workflow.py" "$file") >/tmp/followed 2>&1 ||
    fail "$1: $(tail -40 /tmp/followed)"
  grep -q "1 passed" /tmp/followed || fail "$1 ran no test: $(tail -40 /tmp/followed)"
  echo "  $1: $(grep -c '^\$ ' /tmp/followed) commands ran"
}
follow github-container.yml
follow gitlab.yml
# The environment has pip and python, as setup-python's action makes one.
python3 -m venv --system-site-packages /tmp/setup-python
(export PATH="/tmp/setup-python/bin:$PATH" PIP_NO_INDEX=1 && follow github-hosted.yml)
rm -r /tmp/project /tmp/setup-python

environment="/home/tester/an environment"
su tester -c "python3 -m venv --system-site-packages '$environment'"
su tester -c "'$environment/bin/pip' install --no-index '$wheel'" >/tmp/pip 2>&1 || fail "$(cat /tmp/pip)"
unshare --net sh -c 'ip link set lo up && exec sh tests/packages/two_programs.sh "$1"' sh \
  "$environment/bin/urnic" || exit 1
# The tests of the package itself.
apt-get install -y -qq python3-pytest-xdist python3-seccomp >/tmp/apt 2>&1 || fail "$(tail -5 /tmp/apt)"
# pytest writes bytecode of plugins beside them, which pip does not know when it uninstalls them.
options="-q -p no:cacheprovider --tb=short --urnic-required"
su tester -c "export PYTHONDONTWRITEBYTECODE=1; cd /tmp
  '$environment/bin/python' -m pytest $options $top/tests/python" \
  >/tmp/tests 2>&1 || fail "$(tail -60 /tmp/tests)"
su tester -c "'$environment/bin/pip' uninstall -y urnic" >/tmp/pip 2>&1 || fail "$(cat /tmp/pip)"
left=$(find "$environment" -path '*urnic*')
[ -z "$left" ] || fail "uninstalled, but these files are left: $left"
echo "  the wheel was installed by pip, used and removed, with $(python3 --version): $(tail -1 /tmp/tests)"
