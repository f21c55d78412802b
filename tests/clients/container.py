# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Containers as users get them: without privilege, in user namespaces, by bubblewrap, under a filter of
system calls."""
import errno
import subprocess
import sys

# What Docker's documentation lists as forbidden by its default profile (Seccomp security profiles for
# Docker), and what its profile has forbidden since: io_uring.
FORBIDDEN = """
    acct add_key bpf clock_adjtime clock_settime delete_module finit_module get_mempolicy init_module io_uring_enter io_uring_register
    io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl mbind mount move_pages name_to_handle_at nfsservctl
    open_by_handle_at perf_event_open pivot_root process_vm_readv process_vm_writev ptrace quotactl reboot request_key
    set_mempolicy setns settimeofday swapon swapoff sysfs umount2 unshare uselib userfaultfd ustat vhangup
""".split()
SHARED_MEMORY_BYTES = 64 << 20  # of /dev/shm, as Docker has it
LOCKED_BYTES = 64 << 10  # that may be locked


# Packages of Debian's are for its own Python, which need not be the first one in PATH.
_PYTHON = "/usr/bin/python3"


def make_filter(path):
    """The filter as a BPF program, for bubblewrap. Whether it could be made: python3-seccomp is needed."""
    return subprocess.run([_PYTHON, __file__, path], stderr=subprocess.DEVNULL).returncode == 0


def _write_filter(path):
    import seccomp

    calls = seccomp.SyscallFilter(seccomp.ALLOW)
    for name in FORBIDDEN:
        try:
            calls.add_rule(seccomp.ERRNO(errno.EPERM), name)
        except (RuntimeError, OSError):
            pass  # this processor's Linux has no such call
    with open(path, "wb") as file:
        calls.export_bpf(file)


def words(filter_path, folders, has_network=False):
    """The words before a command that run it in a container: with a read-only root, no capability, and a
    /dev of its own. `folders` are pairs: what it sees instead of a folder, or the same one, to write to.
    Without the network that it is started in, it has one of its own, in which loopback is alone."""
    spaces = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    spaces += [] if has_network else ["--unshare-net"]
    mounts = [
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        SHARED_MEMORY_BYTES,
        "--tmpfs",
        "/dev/shm",
    ]
    for source, place in folders:
        mounts += ["--bind", source, place]
    bubblewrap = ["bwrap", *spaces, *mounts, "--cap-drop", "ALL", "--die-with-parent", "--seccomp", "9"]
    # The shell opens the filter for it.
    opened = ["sh", "-c", 'filter=$1; shift; exec "$@" 9<"$filter"', "sh", filter_path]
    return [
        str(word) for word in ["prlimit", f"--memlock={LOCKED_BYTES}:{LOCKED_BYTES}", *opened, *bubblewrap]
    ]


if __name__ == "__main__":
    _write_filter(sys.argv[1])
