# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A /tmp of our own. perftest's programs make files of fixed names in /tmp. When such a file belongs to
another user, they cannot open it."""
import ctypes
import os
import pathlib
import pwd
import tempfile

TMP = pathlib.Path("/tmp")
# perftest's names of the files that XRC domains belong to.
FIXED_NAMES = ("xrc_domain_server", "xrc_domain_client")

# <sched.h> and <sys/mount.h>
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


def enter(*kept):
    """Gives this process, and all that it starts from now on, an empty /tmp in a mount namespace; of what
    was there only the folders `kept` stay, as far as they exist, and the working folder. Call it while
    there is one thread. Raises OSError where namespaces are not allowed; /tmp is the common one then."""
    before, working_folder = os.open(TMP, os.O_PATH), os.getcwd()
    _new_namespace()
    place = pathlib.Path(tempfile.mkdtemp(prefix="urnic-tmp-", dir=TMP))
    try:
        _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        _mount("tmpfs", place, "tmpfs", 0, "mode=1777")
        for folder in _outermost({*map(os.path.abspath, kept), working_folder}):
            copy = place / folder.relative_to(TMP)
            copy.mkdir(parents=True)
            _mount(folder, copy, None, _MS_BIND | _MS_REC)
        _mount(place, TMP, None, _MS_MOVE)
        os.chdir(working_folder)
    finally:
        os.rmdir(place.name, dir_fd=before)  # no other process sees what is mounted on it
        os.close(before)


def obstacles(user):
    """A line for each file of another user that programs of this user id want in /tmp."""
    found = [TMP / name for name in FIXED_NAMES if (TMP / name).exists()]
    return [
        f"{path} belongs to {_name_of(path.stat().st_uid)}: perftest's programs cannot open it, and fail over XRC until it is removed"
        for path in found
        if path.stat().st_uid != user
    ]


def _new_namespace():
    user, group = os.geteuid(), os.getegid()
    flags = _CLONE_NEWNS | (_CLONE_NEWUSER if user != 0 else 0)
    _check(_libc.unshare(flags))
    if user != 0:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            pathlib.Path("/proc/self", file).write_text(text)


def _outermost(folders):
    """Those in /tmp that are in no other one."""
    chosen = []
    for folder in sorted(map(pathlib.Path, folders)):
        if TMP in folder.parents and folder.is_dir() and not any(other in folder.parents for other in chosen):
            chosen.append(folder)
    return chosen


def _mount(source, target, kind, flags, data=None):
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), None if data is None else data.encode()))


def _check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _name_of(user):
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
