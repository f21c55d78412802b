# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Where clients run: an installation that every user may read, an ordinary user, and runtime folders of their
own."""
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

from building import build as build_targets

NOBODY = 65534
USUAL_PORT = "fabric"  # of tests that say no --port: any number of them can run at once, also without root


def _runtime_place():
    """In memory if that has room for recordings, as a user's XDG_RUNTIME_DIR is: a disk's file system
    takes its time over files that come and go by the thousand."""
    memory = "/dev/shm"
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    return memory if has_room else "/var/tmp"


class Stage:
    """A temporary folder that a build is installed into, which is built first where that is needed.
    Programs started from it run without privilege."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        build_targets(self.build, "product")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="urnic-clients-", dir="/tmp"))
        self.root.chmod(0o755)
        self.is_root = os.geteuid() == 0
        subprocess.run(
            ["cmake", "--install", self.build, "--prefix", self.root], stdout=subprocess.DEVNULL, check=True
        )
        self.urnic = self.root / "bin/urnic"
        self.library = self.root / "lib/urnic"
        self._runtime = pathlib.Path(tempfile.mkdtemp(prefix="urnic-clients-", dir=_runtime_place()))
        self._runtime.chmod(0o755)
        self._folders = 0

    def program(self, name):
        """The path of a program of the build, here."""
        here = self.root / "bin" / name
        if not here.exists():
            build_targets(self.build, name)
            shutil.copy2(self.build / "bin" / name, here)
        return here

    def close(self):
        for folder in (self.root, self._runtime):
            shutil.rmtree(folder, ignore_errors=True)

    def folder(self):
        """A new folder of the unprivileged user."""
        self._folders += 1
        folder = self._runtime / str(self._folders)
        folder.mkdir(mode=0o700)
        self.hand_over(folder)
        return folder

    def hand_over(self, folder):
        """Makes a folder, and what is in it, the unprivileged user's."""
        if self.is_root:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def environment(self, runtime):
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LANG": "C",
            "HOME": str(runtime),
            "TMPDIR": str(runtime),
            "XDG_RUNTIME_DIR": str(runtime),
            "URNIC_PORT": USUAL_PORT,
        }

    def drop_privilege(self, command):
        """The command as an ordinary user."""
        if not self.is_root:
            return [str(word) for word in command]
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, command)]


class Process:
    """A started program whose output goes to files, so that it never waits for us to read it."""

    def __init__(self, name, command, environment, folder, privileged=False, stage=None):
        self.name = name
        self.command = [str(word) for word in command]
        self._out = tempfile.TemporaryFile()
        full = self.command if privileged else stage.drop_privilege(self.command)
        self.popen = subprocess.Popen(
            full,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )

    @property
    def pid(self):
        return self.popen.pid

    def is_running(self):
        return self.popen.poll() is None

    def wait(self, timeout):
        """The exit code, or None when so many seconds are over; with None it waits as long as it takes."""
        if self.popen.poll() is None:
            # Popen.wait() looks every 50 ms, which is as long as a short program takes.
            ended = os.pidfd_open(self.pid)
            try:
                poll = select.poll()  # select() takes no descriptor above 1023
                poll.register(ended, select.POLLIN)
                poll.poll(None if timeout is None else timeout * 1000)
            finally:
                os.close(ended)
        return self.popen.poll()

    def kill(self):
        """kill -9, and waits until the process is gone."""
        if self.is_running():
            self.popen.kill()
        self.popen.wait()

    def output(self):
        end = os.fstat(self._out.fileno()).st_size
        return os.pread(self._out.fileno(), end, 0).decode(errors="replace")

    def describe(self):
        code = self.popen.poll()
        state = "still running" if code is None else f"ended with {code}"
        if code is None:
            state += " (" + " ".join(_thread_states(self.pid)) + ")"
        return f"--- {self.name}: {state}: {' '.join(self.command)}\n{self.output()}"


def _thread_states(pid):
    """Name, state and place in the kernel of every thread, to see where a program hangs."""
    states = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        try:
            fields = (task / "stat").read_text().rsplit(")", 1)
            where = (task / "wchan").read_text() or "-"
            states.append(f"{fields[0].split('(', 1)[1]}:{fields[1].split()[0]}:{where}")
        except OSError:
            continue
    return states
