#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Copies pages of the tree into one folder, as packages install them.

    link_pages.py OUTPUT ROOT PAGE...        pages are paths below ROOT

Links from one of these pages to another lead to its copy. Pictures come along. What is not installed is named
in words: a link to it would be dead. Comments are left out.
"""
import os
import pathlib
import re
import shutil
import sys

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(page):
    """As its copy is called: each README of a folder has the folder's name."""
    path = pathlib.PurePath(page)
    is_of_a_folder = path.name == "README.md" and path.parent.name
    return f"{path.parent.name.upper()}.md" if is_of_a_folder else path.name


class Folder:
    """Where the copies go."""

    def __init__(self, output, root, pages):
        self._output = output
        self._root = root
        self._pages = pages
        if len({name_of(page) for page in pages}) < len(pages):
            sys.exit(f"link_pages: two pages have the same name: {' '.join(pages)}")

    def add(self, page):
        text = COMMENT.sub("", (self._root / page).read_text())
        parts, at = [], 0
        for code in CODE.finditer(text):
            parts += [self._linked(page, text[at : code.start()]), code[0]]
            at = code.end()
        parts.append(self._linked(page, text[at:]))
        (self._output / name_of(page)).write_text("".join(parts))

    def _linked(self, page, text):
        return LINK.sub(lambda link: self._replacement(page, *link.groups(default="")), text)

    def _replacement(self, page, mark, words, target, anchor):
        if not target or "://" in target:
            return f"{mark}[{words}]({target}{anchor})"
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        name = os.path.basename(path) if mark else name_of(path)
        if mark:
            shutil.copyfile(self._root / path, self._output / name)
        elif path not in self._pages:
            return words if path.endswith(words.strip("`")) else f"{words} ({path})"
        return f"{mark}[{words}]({name}{anchor})"


def main():
    output, root, *pages = sys.argv[1:]
    folder = Folder(pathlib.Path(output), pathlib.Path(root), pages)
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    for page in pages:
        folder.add(page)


if __name__ == "__main__":
    main()
