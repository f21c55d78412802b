#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Tests of pages.py: what it finds wrong, and what may differ."""
import subprocess
import unittest

import pages

PAGE = """# A page

<!-- file: greeting.txt -->
```
hello
```

<!-- not run: it would take too long -->
```console
$ sleep 1000
```

<!-- varies: took (\\d+ ms) -->
```console
$ cat greeting.txt; echo "it took 7 ms"
hello
it took 12 ms
$ seq 9
1
...
5
...
9
$ echo a \\
    b
a b
```
"""
OUTPUTS = [["hello", "it took 7 ms"], [str(n) for n in range(1, 10)], ["a b"]]


def wrong(outputs=None, text=PAGE):
    """Lines of commands about which there is a complaint."""
    return [
        complaint.splitlines()[0].split("$ ")[1]
        for complaint in pages.complaints(pages.read(text, "PAGE.md"), outputs or OUTPUTS)
    ]


def changed(number, *lines):
    return [*OUTPUTS[:number], list(lines), *OUTPUTS[number + 1 :]]


class Reading(unittest.TestCase):
    def test_it_finds_commands_files_and_what_is_not_run(self):
        page = pages.read(PAGE, "PAGE.md")
        self.assertEqual(
            [step.command for step in page.steps],
            ['cat greeting.txt; echo "it took 7 ms"', "seq 9", "echo a \\\n    b"],
        )
        self.assertEqual(page.files, {"greeting.txt": "hello\n"})
        self.assertEqual(
            [(commands, reason) for _, commands, reason in page.not_run],
            [(["sleep 1000"], "it would take too long")],
        )

    def test_what_cannot_be_meant_is_refused(self):
        for text, why in (
            ("```console\nhello\n```", "begins with"),
            ("```console\n$ true", "does not end"),
            ("<!-- not run: it is long -->\ntext", "no block follows"),
            ("<!-- not run: it is long -->\n```c\nint a;\n```", "is for a block of console"),
            ("<!-- varies: (9) -->\n```console\n$ echo 1\n1\n```", "nothing in the block varies"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(pages.Wrong, why):
                pages.read(text, "PAGE.md")


class Comparing(unittest.TestCase):
    def test_the_page_is_as_shown(self):
        self.assertEqual(wrong(), [])

    def test_a_changed_line_is_found(self):
        self.assertEqual(
            wrong(changed(0, "hallo", "it took 7 ms")), ['cat greeting.txt; echo "it took 7 ms"']
        )

    def test_a_line_more_or_less_is_found(self):
        for lines in (("hello",), ("hello", "it took 7 ms", "and so on"), ()):
            self.assertEqual(len(wrong(changed(0, *lines))), 1, lines)

    def test_another_number_is_found_where_it_is_not_declared(self):
        self.assertEqual(wrong(changed(2, "a 2")), ["echo a \\"])

    def test_another_number_passes_where_it_is_declared(self):
        self.assertEqual(wrong(changed(0, "hello", "it took 123 ms")), [])

    def test_words_do_not_pass_where_a_number_is_declared(self):
        self.assertEqual(len(wrong(changed(0, "hello", "it took long"))), 1)
        text = PAGE.replace(r"took (\d+ ms)", r"took (.+)").replace("12 ms", "long")
        with self.assertRaisesRegex(pages.Wrong, "lets more than a number vary: 'long'"):
            wrong(text=text)

    def test_spaces_are_compared_as_one(self):
        self.assertEqual(wrong(changed(0, "hello", "it  took\t7 ms")), [])

    def test_left_out_lines_do_not_hide_what_is_shown(self):
        for lines in (("1", "2", "9"), ("1", "5"), ("5", "9"), ("1", "9", "5"), ("1", "5", "9", "10")):
            self.assertEqual(wrong(changed(1, *lines)), ["seq 9"], lines)
        self.assertEqual(wrong(changed(1, "1", "5", "9")), [])

    def test_a_command_that_never_ran_is_found(self):
        self.assertEqual(wrong(OUTPUTS[:2]), ["echo a \\"])


class Running(unittest.TestCase):
    def run_page(self, text):
        page = pages.read(text, "PAGE.md")
        done = subprocess.run(
            ["bash", "-c", pages.script_of(page)], stdout=subprocess.PIPE, text=True, timeout=20
        )
        return pages.outputs_of(done.stdout)

    def test_each_command_has_its_output(self):
        text = "```console\n$ word=b\n$ echo a; echo $word >&2\n$ false\n$ echo c\n```\n"
        self.assertEqual(self.run_page(text), [[], ["a", "b"], [], ["c"]])

    def test_no_command_reads_what_is_typed(self):
        self.assertEqual(self.run_page("```console\n$ cat\n$ echo b\n```\n"), [[], ["b"]])

    def test_it_goes_on_when_a_program_listens(self):
        listen = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); s.accept()'"
        text = f"```console\n$ timeout 1 {listen} &\n$ echo b\n```\n"
        self.assertEqual(self.run_page(text)[1], ["b"])


if __name__ == "__main__":
    unittest.main()
