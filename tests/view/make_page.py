#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Puts the page of `urnic view` together without the tool: for tests of the page alone.

    make_page.py DATA.json PAGE.html [TITLE]
"""
import html
import json
import os
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "tools/inspection/view/page"
D3 = pathlib.Path(os.environ.get("URNIC_D3", "/usr/share/nodejs/d3/dist/d3.min.js"))


def scripts():
    """The files of the page's script, in their order."""
    return [PAGE / name for name in (PAGE / "scripts.txt").read_text().split()]


def as_script_data(data):
    """JSON that may stand in a script element: `</script>` in it ends nothing."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def make_page(data, title="test"):
    """The page as text. What is put in is not looked at for placeholders again."""
    parts = {
        "STYLE": (PAGE / "page.css").read_text(),
        "D3": D3.read_text(),
        "SCRIPT": "\n".join(path.read_text() for path in scripts()),
        "DATA": as_script_data(data),
        "TITLE": html.escape(title),
    }
    return re.sub(
        "@(STYLE|D3|SCRIPT|DATA|TITLE)@", lambda found: parts[found[1]], (PAGE / "page.html").read_text()
    )


def write_page(path, data, title="test"):
    pathlib.Path(path).write_text(make_page(data, title), encoding="utf-8")


if __name__ == "__main__":
    write_page(sys.argv[2], json.loads(pathlib.Path(sys.argv[1]).read_text()), *sys.argv[3:4])
