# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic lab`: solutions pass, files with gaps and wrong solutions fail and say what to do, and a student
gets through."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ClientTest
from stage import NOBODY

LABS = harness.PROJECT / "tools/teaching/lab"
sys.path.append(str(LABS))

from runner.exercises import BadSource, exercises, render  # noqa: E402

NETWORK = (
    "link add net0 type veth peer name net1",
    "addr add 10.99.0.1/24 dev net0",
    "link set net0 up",
    "link set net1 up",
)
SECONDS = 120  # for one lab; on an idle machine none takes ten
ATTEMPTS = 3  # a race may turn out the other way where the machine is busy: the lab says then "Try again"
PASSED, NOT_PASSED, USAGE = 0, 1, 2

# Solutions spoilt at one place: (lab, file, what stands there, what is put there, what the complaint must
# name).
SPOILT = (
    (1, "first_light.c", "ibv_create_cq(context, 16, NULL, NULL, 0)", "NULL", "GAP 2"),
    (1, "first_light.c", "if (ibv_post_send(qp, &send, &bad) != 0)", "(void)send, (void)bad;\n    if (1)", "GAP 6"),
    (2, "walk.c", "IBV_QP_RETRY_CNT | ", "", "GAP 3"),
    (2, "faults.c", "part->lkey ^= 0xff;", "(void)part;", "GAP 4"),
    (2, "faults.c", ".qp_state = IBV_QPS_ERR", ".qp_state = IBV_QPS_RTS", "GAP 5"),
    (2, "faults.c", "request->wr.rdma.rkey ^= 0xff;", "(void)request;", "GAP 10"),
    (2, "faults.c", "end->peers.qp_number++;", "", "GAP 12"),
    (2, "faults.c", "if (wanted != 13)", "if (wanted != 99)", "GAP 13"),
    (3, "anatomy.c", "bytes == 0 ? 1 : ", "", "WRITE of 0 bytes"),
    (3, "anatomy.c", "(4 - bytes % 4) % 4", "4 - bytes % 4", "padding 4"),
    (3, "icrc.py", "    masked[8] = 0xFF  # IPv4: TTL\n", "", "GAP 3"),
    (4, "forecast.py", "sent += range(LOST, packets)", "sent += [LOST]", "GAP 1"),
    (4, "forecast.py", "sent += [0, *range(expected, packets)]", "sent += range(packets)", "GAP 2"),
    (4, "forecast.py", "sent += [0, *range(expected, packets)]", "sent += range(expected, packets)", "GAP 2"),
    (4, "forecast.py", "sent += [0, *range(expected, packets)]", "sent += [0, packets - 1]", "GAP 2"),
    (4, "forecast.py", "requests.append((LOST, packets - LOST))", "requests.append((LOST, 1))", "GAP 3"),
    (5, "timers.c", "0.004096 *", "4.096 *", "GAP 1"),
    (5, "timers.c", "return retry_count + 1", "return retry_count", "GAP 2"),
    (5, "timers.c", "transmissions(retry_count) * ack", "0 * retry_count + ack", "GAP 1 or 3"),
    (5, "rnr.c", "YOUR_CODE = 18", "YOUR_CODE = 17", "code 17"),
    (6, "credits.c", "tell_credit(end, next + 1);", "if (0) tell_credit(end, 0);", "GAP 1"),
    (6, "credits.c", "tell_credit(end, next + 1);", "tell_credit(end, next + RECEIVES);", "GAP 1"),
    (6, "credits.c", "(uint32_t)sent < credit", "sent >= 0 || credit", "GAP 2"),
    (7, "mended.c", "return of_data", "(void)of_data;\n  return other", "GAP 1"),
    (7, "mended.c", " | IBV_SEND_FENCE", "", "GAP 2"),
    (7, "mended.c", "return completed == posted", "return completed >= 0 || posted", "GAP 3"),
    (7, "mended.c", "number % 64 == 63 ? IBV_SEND_SIGNALED : 0", "number < 0", "GAP 4"),
    (7, "mended.c", "number % 64 == 63 ?", "number >= 0 ?", "GAP 4"),
    (8, "vault.c", "return IBV_ACCESS_REMOTE_READ;", "return 0;", "too small"),
    (8, "vault.c", "  return 0;", "  return IBV_ACCESS_REMOTE_READ;", "GAP 2"),
    (8, "vault.c", ".length = LETTER", ".length = PAGE", "GAP 3"),
    (8, "vault.c", ".opcode = IBV_WR_LOCAL_INV", ".opcode = IBV_WR_RDMA_WRITE", "GAP 4"),
    (9, "formula.py", "rate / (1 - rate)", "rate", "GAP 1"),
    (9, "formula.py", "min(packets, 2) if position == packets else packets - position + 1", "packets - position + 1", "GAP 2"),
    (9, "formula.py", "min(packets, 2) if position == packets else packets - position + 1", "min(packets, 2) if position == packets else packets - position", "GAP 2"),
    (9, "formula.py", "min(packets, 2) if position == packets", "packets if position == packets", "GAP 2"),
    (9, "formula.py", "min(packets, 2) if position == packets", "2 if position == packets", "GAP 2: the only packet"),
    (9, "formula.py", "sum(costs) / packets", "sum(costs)", "GAP 3"),
    (9, "formula.py", "return 1 + losses(rate)", "return losses(rate)", "GAP 3"),
    (10, "verify.py", "sent.has_all_up_to(acknowledged_by(answer))", "(acknowledged_by(answer) in sent.psns)", "GAP 1"),
    (10, "verify.py", "sent.has_all_up_to(acknowledged_by(answer))", "sent.has_all_up_to(answer.psn)", "GAP 1"),
    (10, "verify.py", "not sent.messages_up_to(answer.psn) <= answer.msn <= len(sent.ends)", "answer.msn != sent.messages_up_to(answer.psn)", "GAP 2: the responder in right.pcap is right"),
    (10, "verify.py", "not sent.messages_up_to(answer.psn) <= answer.msn <= len(sent.ends)", "answer.msn > len(sent.ends)", "GAP 2"),
    (10, "verify.py", "not sent.messages_up_to(answer.psn) <= answer.msn <= len(sent.ends)", "answer.msn < sent.messages_up_to(answer.psn)", "GAP 2"),
    (10, "verify.py", "distance(nak.psn, newest) <= 0", "nak.psn <= newest", "GAP 3: it takes trial-5.pcap"),
    (10, "verify.py", "distance(nak.psn, newest) <= 0", "distance(nak.psn, newest) < 5", "GAP 3"),
    (11, "ways.c", "(rank - step + count) % count", "(rank + step) % count", "GAP 1"),
    (11, "ways.c", "(rank + 1 - step + count) % count", "(rank - step + count) % count", "GAP 2"),
    (11, "ways.c", "    ranks_wait_for(ranks, step, 1);\n", "", "GAP 3"),
    (11, "ways.c", "return (number + n) % count;", "return (void)number, (void)count, n;", "GAP 4"),
    (11, "ways.c", "  all_are_ready(job);\n  // The other", "  // The other", "GAP 5"),
    (12, "pages.c", "parts[layer] = end_part(end, piece_at_prefill(", "parts[layer] = end_part(end, piece_at_decode(", "GAP 1"),
    (12, "pages.c", "return LAYERS;", "return LAYERS - 1;", "GAP 1"),
    (12, "pages.c", "return arrived == PAGES;", "return arrived == PAGES - 1;", "GAP 2"),
    (12, "pages.c", "return arrived == PAGES;", "return arrived == PAGES + 1;", "GAP 2"),
    (12, "pages.c", "  end_wait_for_success(end);", "  (void)end;", "GAP 3"),
    (13, "places.c", "before < expert; before++) place += (int)counts[rank][before]", "before <= expert; before++) place += (int)counts[rank][before]", "GAP 1"),
    (13, "places.c", "if (rank_of(before) == rank_of(expert)) place", "place", "GAP 2"),
    (13, "places.c", "source < rank; source++", "source <= rank; source++", "GAP 2"),
    (13, "places.c", " && counts[source][expert] > 0", " && counts", "GAP 3"),
    (13, "places.c", "&memory->back[place_in_out(memory->counts, rank, expert)]", "memory->back", "GAP 4"),
    (14, "send.c", "sizeof(struct request)));\n}\n\n// Sends", "4));\n}\n\n// Sends", "local length error"),
    (14, "send.c", "end_part(&end, offset_of(request), request->bytes)", "end_part(&end, 0, request->bytes)", "bytes 1 instead of 2"),
    (14, "send.c", "  end_post_receive(&end, 2, value);\n  end_post_send(&end, 3, message);", "  end_post_send(&end, 3, message);\n  end_post_receive(&end, 2, value);", "GAP 3"),
    (14, "send.c", "  next_completion();\n  next_completion();\n", "  next_completion();\n", "was the value not there yet"),
    (14, "read.c", "is_client ? 0 : IBV_ACCESS_REMOTE_READ", "0", "with status 9"),
    (14, "read.c", " + offset_of(request)", " + 0 * offset_of(request)", "bytes 1 instead of 2"),
    (14, "read.c", "= end.peers.rkey", "= end.peers.rkey + 1", "with status 10"),
    (14, "read.c", "return first_version(value) == last_version(value, bytes)", "return bytes > 0 || first_version(value) == last_version(value, bytes)", "GAP 3"),
    (14, "read.c", "return first_version(value) == last_version(value, bytes)", "return first_version(value) > last_version(value, bytes)", "GAP 3"),
    (15, "mended.c", "  end_wait_for_success(blocks);  // of the WRITE\n  return 1;",
     "  (void)blocks;\n  return 0;", "GAP 1"),
    (15, "mended.c", "init->cap.max_inline_data = 0;", "init->cap.max_inline_data = 102;", "GAP 2"),
    (15, "mended.c", "(void)block, (void)number;\n  end_wait_for_success(blocks);  // of the receive",
     "(void)blocks;\n  while (block[WORDS - 1] != number) sched_yield();", "GAP 3"),
    (15, "mended.c", "RDMA_WRITE_WITH_IMM", "RDMA_WRITE", "no completion within 8 s"),
    (15, "mended.c", "return TOGETHER;", "return 2;", "GAP 4"),
)  # fmt: skip


def numbers():
    return sorted(int(folder.name[:2]) for folder in LABS.glob("[0-9][0-9]_*"))


def source(number):
    (folder,) = LABS.glob(f"{number:02}_*")
    return folder


class Labs(ClientTest):
    def setUp(self):
        super().setUp()
        # Programs are built and run in it, which /dev/shm often forbids.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="urnic-labs-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        if harness.STAGE.is_root:
            os.chown(self.folder, NOBODY, NOBODY)
        self.inside = self.namespace(*NETWORK) if harness.STAGE.is_root else ()

    def lab(self, *words, answers="", path="/usr/local/bin:/usr/bin:/bin"):
        """Runs `urnic lab` as an ordinary user, over the port that NICs have by themselves."""
        command = [*self.inside, *harness.STAGE.drop_privilege([harness.STAGE.urnic, "lab", *words])]
        environment = {**self.environment, "URNIC_PORT": "", "PATH": path, "TMPDIR": str(self.folder)}
        return subprocess.run(
            [str(word) for word in command],
            input=answers,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
            timeout=SECONDS,
            check=False,
        )

    def check(self, number, *words):
        """(exit code, what --check reports)"""
        self.require("make", "gcc", "ibv_rc_pingpong")
        result = self.lab(number, "--check", "--json", *words)
        try:
            return result.returncode, json.loads(result.stdout)
        except ValueError:
            self.fail(f"no report: {result.stdout}{result.stderr}")

    def students_folder(self, number, texts=None):
        """A folder with the lab's files as a student gets them, and with these texts: {name: text}."""
        folder = self.folder / f"urnic-lab-{number}"
        folder.mkdir(exist_ok=True)
        for name, text in (texts or {}).items():
            (folder / name).write_text(text)
        if harness.STAGE.is_root:
            for path in (folder, *folder.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        return folder

    def complaints_of(self, report):
        return "\n".join(
            finding["complaint"]
            for step in report["steps"]
            for finding in step["findings"]
            if not finding["passed"]
        )

    def solution_passes(self, number):
        for _ in range(ATTEMPTS):
            code, report = self.check(number, "--solution")
            if "Try again" not in self.complaints_of(report):
                break
        self.assertEqual((code, self.complaints_of(report)), (PASSED, ""))
        self.assertGreater(sum(len(step["findings"]) for step in report["steps"]), 5)
        self.assertTrue(all(step["passed"] and step["findings"] for step in report["steps"]))

    def gaps_fail(self, number):
        """Each file with gaps, beside the solutions of the others."""
        solutions = exercises(source(number), is_filled=True)
        self.assertTrue(solutions)
        for open_file in solutions:
            with self.subTest(file=open_file):
                others = {name: text for name, text in solutions.items() if name != open_file}
                folder = self.students_folder(number, others)
                (folder / open_file).unlink(missing_ok=True)
                code, report = self.check(number)
                self.assertEqual((code, report["passed"]), (NOT_PASSED, False))
                failed = [step for step in report["steps"] if not step["passed"]]
                self.assertEqual(len(failed), 1)
                self.assertEqual(failed[0]["exercise"], open_file)
                self.assertRegex(self.complaints_of(report), r"GAP \d")

    def spoilt_fails(self, number, name, old, new, words):
        solutions = exercises(source(number), is_filled=True)
        text = solutions[name]
        self.assertEqual(text.count(old), 1)
        folder = self.students_folder(number, {**solutions, name: text.replace(old, new)})
        code, report = self.check(number)
        self.assertEqual(code, NOT_PASSED, "the lab takes it for right")
        self.assertIn(words, self.complaints_of(report))
        self.assertEqual(
            (folder / name).read_text(), text.replace(old, new), "the student's file was changed"
        )

    def test_each_end_of_a_students_program_is_a_sentence(self):
        """No Python exception of the runner, and no traceback of the student's file."""
        self.require("make", "gcc")
        in_c = (
            "\n#include <signal.h>\n#include <unistd.h>\n"
            "__attribute__((constructor)) static void end_it(void) { %s; }\n"
        )
        at_end = (
            (1, "first_light.c", in_c % "raise(SIGSEGV)", "crashed: it used memory that it does not have"),
            (1, "first_light.c", in_c % "_exit(0)", "has not opened the device urnic0"),
            (1, "first_light.c", in_c % "_exit(9)", "ended with 9. It printed nothing."),
            (1, "first_light.c", "\nint broken( {\n", "'make' does not build the programs"),
        )
        at_begin = (
            (4, "forecast.py", "def (:\n", "forecast.py, line 1, is not Python: "),
            (4, "forecast.py", "import os\nos.abort()\n", "crashed: it gave up by abort() (SIGABRT)"),
            (
                4,
                "forecast.py",
                "raise ValueError('mine')\n",
                "forecast.py stops at line 1: ValueError, mine.",
            ),
            (4, "forecast.py", "print('x y z')\nraise SystemExit(0)\n", "GAP 1"),
            (4, "forecast.py", "raise SystemExit(0)\n", "GAP 1"),
            (3, "icrc.py", "raise SystemExit(0)\n", ""),
            (10, "verify.py", "raise SystemExit(0)\n", "there is no trial-1.pcap"),
        )
        for number, name, text, words in at_end + at_begin:
            with self.subTest(lab=number, text=text):
                solutions = exercises(source(number), is_filled=True)
                parts = (
                    [text, solutions[name]]
                    if (number, name, text, words) in at_begin
                    else [solutions[name], text]
                )
                self.students_folder(number, {**solutions, name: "".join(parts)})
                code, report = self.check(number)
                complaints = self.complaints_of(report)
                self.assertEqual(code, NOT_PASSED)
                self.assertIn(words, complaints)
                self.assertNotRegex(complaints, r"Traceback|\(\w+(Error|Exception)")

    def test_a_program_that_hangs_is_stopped_with_a_sentence(self):
        self.require("make", "gcc")
        solutions = exercises(source(9), is_filled=True)
        self.students_folder(9, {"formula.py": "import time\ntime.sleep(1000)\n" + solutions["formula.py"]})
        _, report = self.check(9)
        self.assertRegex(self.complaints_of(report), r"did not end within \d+ s and was stopped")

    def test_are_listed(self):
        listed = json.loads(self.lab("--json").stdout)
        self.assertEqual([lab["number"] for lab in listed], numbers())
        text = self.lab().stdout
        for lab in listed:
            self.assertTrue(lab["understand"] and 0 < lab["minutes"] <= 60)
            self.assertIn(f"{lab['number']}  {lab['title']} ({lab['minutes']} minutes)", text)

    def test_exercises_have_marks_in_order(self):
        text = "a\n  # <gap>\ngap\n  # <filled>\nfilled\n  # <end>\nz"
        self.assertEqual(render(text, is_filled=False), "a\ngap\nz")
        self.assertEqual(render(text, is_filled=True), "a\nfilled\nz")
        for wrong in (
            "// <filled>\n",
            "// <gap>\n// <end>\n",
            "// <gap>\n// <gap>\n",
            "// <gap>\n// <filled>\n",
        ):
            with self.assertRaises(BadSource, msg=wrong):
                render(wrong, is_filled=True)
        for number in numbers():
            with self.subTest(lab=number):
                gaps, solutions = (exercises(source(number), is_filled=filled) for filled in (False, True))
                self.assertTrue(gaps and all(gaps[name] != solutions[name] for name in gaps))

    def test_write_the_solutions_for_those_who_teach(self):
        solved = self.folder / "solved"
        result = self.lab(7, "--solution", "--folder", solved)
        self.assertEqual(result.returncode, PASSED, result.stderr)
        self.assertEqual((solved / "mended.c").read_text(), exercises(source(7), is_filled=True)["mended.c"])
        self.assertTrue((solved / "README.md").exists())

    def test_have_pages_for_students_and_teachers(self):
        for number in numbers():
            with self.subTest(lab=number):
                page = (source(number) / "README.md").read_text()
                for heading in (
                    "What you will understand",
                    "Commands",
                    "Predict",
                    "Questions",
                    "When it does not work",
                ):
                    self.assertIn(f"\n## {heading}\n", page)
                questions = re.findall(
                    r"^\d+\. ", page.partition("\n## Questions\n")[2].partition("\n## ")[0], re.M
                )
                answers = re.findall(
                    r"^\d+\. ",
                    (source(number) / "teacher.md").read_text().partition("Answers to the questions:")[2],
                    re.M,
                )
                self.assertEqual(questions, answers)

    def test_a_student_gets_through(self):
        """Lab 8 from the first step to the picture: a mistake that is mended, a wrong prediction and right
        ones."""
        self.require("make", "gcc")
        folder = self.students_folder(8, exercises(source(8), is_filled=True))
        answers = ["", "3", "32", "", "", "6", "0", ""]
        result = self.lab(8, answers="".join(f"{answer}\n" for answer in answers))
        self.assertEqual(result.returncode, PASSED, result.stdout + result.stderr)
        self.assertIn("You said 3 guesses; the packets say 1 guess.", result.stdout)
        self.assertIn("Right: 32 guesses.", result.stdout)
        self.assertIn("Right: 6 attempts.", result.stdout)
        self.assertIn('id="data"', (folder / "page.html").read_text())
        again = self.lab(8, "--restart", answers="q\n")
        self.assertEqual(again.returncode, NOT_PASSED)
        self.assertIn("goes on here", again.stdout)

    def test_a_student_who_stops_goes_on_there(self):
        self.require("make", "gcc")
        first = self.lab(8, answers="\n1\n32\n\n")  # up to the exercise
        self.assertEqual(first.returncode, NOT_PASSED, first.stdout + first.stderr)
        self.assertIn("3/4  As little as possible", first.stdout)
        second = self.lab(8, answers="\n0\n0\n")  # the gaps are still open
        self.assertNotIn("2/4", second.stdout)
        self.assertIn("3/4  As little as possible", second.stdout)
        self.assertIn("vault.c, GAP 1", second.stdout)
        self.assertEqual(second.returncode, NOT_PASSED)

    def page_of(self, number):
        return {"README.md": (source(number) / "README.md").read_text()}

    def test_say_that_another_user_has_the_port(self):
        """Lab 3 sends packets to UDP port 4791 of the host, and would blame the student."""
        if not harness.STAGE.is_root:
            self.skipTest("needs root: a program of another user")
        self.require("make", "gcc")
        bind = "\n".join(
            [
                "import socket, time",
                "taken = socket.socket(type=socket.SOCK_DGRAM)",
                "taken.bind(('', 4791))",
                "print('here', flush=True)",
                "time.sleep(100)",
            ]
        )
        holder = self.start_plain("holder", [*self.inside, "python3", "-c", bind], privileged=True)
        if not harness.wait_until(lambda: "here" in holder.output(), 10):
            self.fail_with("the port is not taken", holder)
        result = self.lab(3, "--check", "--solution")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("needs UDP port 4791 of this host, and a process of user 0 has it", result.stderr)

    def test_refuse_wrong_usage_in_one_line(self):
        for words, says in (
            (["77"], "there is no lab 77"),
            (["1", "--json"], "--check"),
            (["1", "--solution", "--folder", str(self.folder)], "is there already"),
            (["one"], "one"),
            (["1", "--check", "--folder", "absent"], "absent is not there"),
            (["3", "--check", "--folder", str(self.students_folder(1, self.page_of(1)))], "has another lab"),
        ):
            with self.subTest(words=words):
                result = self.lab(*words)
                self.assertEqual(
                    (result.returncode, result.stdout, len(result.stderr.splitlines())),
                    (USAGE, "", 1),
                    result.stderr,
                )
                self.assertIn(says, result.stderr)

    def test_say_what_the_machine_lacks(self):
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        for name in ("setpriv", "nsenter"):
            if shutil.which(name):
                (bin_folder / name).symlink_to(shutil.which(name))
        result = self.lab(path=str(bin_folder))
        self.assertEqual(result.returncode, 1)
        self.assertIn("python3 is not installed", result.stderr)
        (bin_folder / "python3").symlink_to("/usr/bin/python3")
        result = self.lab(1, path=str(bin_folder))
        self.assertEqual(result.returncode, 3)
        self.assertIn("apt install", result.stderr)
        self.assertIn("gcc", result.stderr)


def _add(name, test):
    setattr(Labs, name, test)


for _number in numbers():
    _add(f"test_{_number}_solution_passes", lambda self, number=_number: self.solution_passes(number))
    _add(f"test_{_number}_gaps_fail", lambda self, number=_number: self.gaps_fail(number))
for _index, _row in enumerate(SPOILT):
    _add(
        f"test_{_row[0]}_spoilt_{_index}_{_row[1].partition('.')[0]}",
        lambda self, row=_row: self.spoilt_fails(*row),
    )
