#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# In a clean root of a distribution, as root, with packages of urnic in /mnt: installs, uses and removes them.
# Says what went wrong, and ends with another code than 0, at the first thing that does.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive

# In a network of its own: UDP port 4791 is one of this machine's things, and may be in use.
use() { unshare --net sh -c 'ip link set lo up && exec sh tests/packages/two_programs.sh "$1"' sh "$1" || exit 1; }

useradd --create-home tester
apt-get update -qq
apt-get install -y -qq ibverbs-utils rdmacm-utils iproute2 man-db procps >/tmp/apt 2>&1 || fail "$(tail -5 /tmp/apt)"
. /etc/os-release
echo "$PRETTY_NAME, rdma-core $(dpkg-query -W -f '${Version}' libibverbs1), glibc $(dpkg-query -W -f '${Version}' libc6)"

package=$(ls /mnt/urnic_*_"$(dpkg --print-architecture)".deb)
apt-get install -y -qq "$package" >/tmp/apt 2>&1 || fail "$(tail -5 /tmp/apt)"
use /usr/bin/urnic
for file in bash-completion/completions/urnic zsh/vendor-completions/_urnic fish/vendor_completions.d/urnic.fish \
  doc/urnic/README.md doc/urnic/copyright doc/urnic/changelog.gz; do
  [ -s /usr/share/$file ] || fail "the package has no /usr/share/$file"
done
gzip -t /usr/share/doc/urnic/changelog.gz || fail "the changelog cannot be read"
sh tests/packages/read_manual.sh
dpkg -L urnic | sort >/tmp/files
apt-get purge -y -qq urnic >/tmp/apt 2>&1 || fail "$(tail -5 /tmp/apt)"
while read -r path; do
  [ -d "$path" ] || [ ! -e "$path" ] || fail "removed, but $path is still there"
done </tmp/files
[ ! -d /usr/lib/urnic ] || fail "removed, but /usr/lib/urnic is still there"
echo "  the .deb was installed, used and removed"

folder="/home/tester/a folder"
mkdir "$folder"
tar -C "$folder" -xf /mnt/urnic-*-linux-*.tar.gz
use "$folder"/urnic-*/bin/urnic
rm -r "$folder"
pkill -u tester || true
[ -z "$(find / -xdev -name '*urnic*' -not -path '/proc/*' -not -path '/tmp/*' -not -path '/mnt/*' -not -path "$PWD/*")" ] ||
  fail "these files are left: $(find / -xdev -name '*urnic*' -not -path '/tmp/*' -not -path '/mnt/*' -not -path "$PWD/*")"
echo "  the .tar.gz ran from '$folder' and is gone without a trace"

sh tests/packages/use_wheel.sh
