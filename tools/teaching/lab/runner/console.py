# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Words on a terminal."""
import os
import shutil
import sys
import textwrap


class Console:
    def __init__(self):
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 100)
        self._is_bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def line(self, text=""):
        """As it is."""
        print(text, flush=True)

    def say(self, text):
        """Paragraphs, wrapped, with a blank line after each; lines that begin with a blank stay as they are."""
        for paragraph in textwrap.dedent(text).strip("\n").split("\n\n"):
            print("\n".join(self._wrapped(paragraph)) + "\n", flush=True)

    def heading(self, text):
        print(f"\n\033[1m{text}\033[0m\n" if self._is_bold else f"\n{text}\n{'-' * len(text)}\n")

    def quote(self, text):
        """What a program said, or what is wrong."""
        for line in text.splitlines():
            print(
                "\n".join(
                    textwrap.wrap(
                        line,
                        self.width - 6,
                        initial_indent="      ",
                        subsequent_indent="      ",
                        break_long_words=False,
                        break_on_hyphens=False,
                    )
                )
            )
        sys.stdout.flush()

    def item(self, text):
        """One of a list."""
        print("\n".join(self._item(f"- {text}")), flush=True)

    def ask(self, prompt):
        """A line, or None at the end of the input."""
        try:
            return input(f"{prompt} ").strip()
        except EOFError:
            print()
            return None

    def _wrapped(self, paragraph):
        flowing = []
        for line in paragraph.splitlines():
            if line.startswith((" ", "|", "- ")) or not line:
                yield from self._flow(flowing)
                flowing = []
                yield from self._item(line)
            else:
                flowing.append(line)
        yield from self._flow(flowing)

    def _flow(self, lines):
        return (
            textwrap.wrap(" ".join(lines), self.width, break_long_words=False, break_on_hyphens=False)
            if lines
            else []
        )

    def _item(self, line):
        return (
            textwrap.wrap(
                line, self.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
            if line.startswith("- ")
            else [line]
        )
