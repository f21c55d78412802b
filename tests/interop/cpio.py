# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Archives as the kernel takes them for an initramfs: cpio in the format called newc."""
import stat


class CpioWriter:
    """Writes an archive into a binary file. Folders above what is added are added, too."""

    def __init__(self, file):
        self._file = file
        self._entries = set()

    def add_file(self, name, content, mode=0o755):
        self._add(name, stat.S_IFREG | mode, content)

    def add_link(self, name, target):
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def add_folder(self, name):
        self._add(name, stat.S_IFDIR | 0o755, b"")

    def holds(self, name):
        return name in self._entries

    def close(self):
        self._write_entry("TRAILER!!!", 0, b"")

    def _add(self, name, mode, content):
        if name in self._entries:
            return
        parent = name.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.add_folder(parent)
        self._entries.add(name)
        self._write_entry(name, mode, content)

    def _write_entry(self, name, mode, content):
        encoded = name.encode() + b"\0"
        # Inode, mode, owner, group, links, time, size, four device numbers, length of the name, checksum
        # (unused).
        numbers = (len(self._entries), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        self._write_padded(b"070701" + b"".join(b"%08x" % number for number in numbers) + encoded)
        self._write_padded(content)

    def _write_padded(self, data):
        self._file.write(data + bytes(-len(data) % 4))
