# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs get urnic's libibverbs however they are linked, or are told why they cannot."""
import json
import os
import pathlib
import shutil
import subprocess

import harness
from harness import ClientTest

SOURCE = pathlib.Path(__file__).resolve().parent / "programs/linked.c"
# As auditwheel names the copies in Python wheels.
RENAMED = "libibverbs-1de1263b.so.1.14.48.0"
RENAMED_COPY = "void* ibv_get_device_list(int* count) { *count = 0; return &*count; }\n"
STATIC = "int main(void) { return 0; }\n"


def system_library():
    """Where the system's libibverbs is."""
    said = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in said.splitlines() if line.split()[0] == "libibverbs.so.1")


class Linking(ClientTest):
    def setUp(self):
        super().setUp()
        self.folder = harness.STAGE.folder()
        self.dropin = (
            pathlib.Path(harness.STAGE.urnic).parent.parent / "lib/urnic/libibverbs.so.1"
        ).resolve()

    def compile(self, name, *words, text=None):
        """A program or library in the test's folder."""
        source = SOURCE
        if text is not None:
            source = self.folder / f"{name}.c"
            source.write_text(text)
        target = self.folder / name
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-o", target, source, *map(str, words)], check=True)
        return target

    def expect_urnic(self, *command):
        process = self.start("linked", command, ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertIn(f"devices=1 libibverbs={self.dropin}", process.output())

    def test_the_auditor_needs_no_library(self):
        """The dynamic linker would load each one a second time, into every process."""
        said = subprocess.run(
            ["readelf", "-d", self.dropin.parent / "liburnic_audit.so"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        self.assertIn("SONAME", said)
        self.assertNotIn("NEEDED", said)

    def test_by_the_usual_name(self):
        self.expect_urnic(self.compile("linked", "-libverbs"))

    def test_with_a_dt_rpath_that_has_another(self):
        """As conda and Spack link: DT_RPATH comes before LD_LIBRARY_PATH."""
        folder = pathlib.Path(system_library()).parent
        words = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{folder}", "-libverbs"]
        self.expect_urnic(self.compile("rpath", *words))

    def test_with_a_folder_before_ours(self):
        """As cargo runs programs whose build brings a library along."""
        program = self.compile("linked", "-libverbs")
        folder = pathlib.Path(system_library()).parent
        self.expect_urnic("sh", "-c", f'LD_LIBRARY_PATH="{folder}:$LD_LIBRARY_PATH" exec {program}')

    def test_opened_by_its_path(self):
        program = self.compile("opening", "-DOPENS_BY_NAME")
        self.expect_urnic(program, system_library())
        self.expect_urnic(program, pathlib.Path(system_library()).resolve())

    def test_renamed_as_in_a_wheel(self):
        copy = self.compile(RENAMED, "-shared", "-fPIC", f"-Wl,-soname,{RENAMED}", text=RENAMED_COPY)
        program = self.compile("wheel", "-DOPENS_BY_NAME", "-Wl,--no-as-needed", copy, "-Wl,-rpath,$ORIGIN")
        self.expect_urnic(program)

    def test_inside_of_another_run(self):
        program = self.compile("linked", "-libverbs")
        self.expect_urnic(harness.STAGE.urnic, "run", "--port", "loopback", "--", program)

    def test_below_valgrind(self):
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed: tools/install-packages clients")
        program = self.compile("linked", "-libverbs")
        self.expect_urnic("valgrind", "-q", "--error-exitcode=9", "--undef-value-errors=no", program)

    def test_a_program_that_has_more_rights_is_told(self):
        if not harness.STAGE.is_root:
            self.skipTest("only root can make a program that has another user's rights")
        program = self.folder / "privileged"
        shutil.copyfile("/bin/true", program)
        os.chown(program, 1, 1)
        program.chmod(0o4755)
        process = self.start("privileged", [program], ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertIn("has more rights than you", process.output())

    def doctor(self, program):
        """What the doctor says of a program: {check: finding}"""
        asked = self.start_plain("doctor", [harness.STAGE.urnic, "doctor", "--json", "--", program])
        asked.wait(60)
        return {each["check"]: each for each in json.loads(asked.output())["findings"]}

    def test_a_doctor_says_what_a_program_gets(self):
        folder = pathlib.Path(system_library()).parent
        rpath = self.compile("rpath", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{folder}", "-libverbs")
        found = self.doctor(rpath)
        self.assertEqual(found["program"]["verdict"], "ok")
        self.assertIn("urnic's", found["libibverbs"]["found"])
        found = self.doctor("rping")
        self.assertIn("librdmacm.so.1", found["librdmacm"]["found"])

    def test_a_doctor_says_what_ucx_is_built_with(self):
        self.require("ucx_perftest")
        found = self.doctor("ucx_perftest")
        self.assertEqual((found["libibverbs"]["verdict"], found["UCX"]["verdict"]), ("ok", "ok"))
        self.assertIn("UCX_NET_DEVICES=urnic0:1", found["UCX"]["found"])

    def test_a_doctor_says_what_libfabric_is_built_with(self):
        self.assertIn("FI_PROVIDER=verbs", self.doctor("fi_pingpong")["libfabric"]["found"])

    def test_a_doctor_names_what_cannot_be_served(self):
        program = self.compile("static", "-static", text=STATIC)
        found = self.doctor(program)["program"]
        self.assertEqual(found["verdict"], "problem")
        self.assertIn("statically linked", found["remedy"])
        self.assertIn("no such program", self.doctor("no-such-program")["program"]["found"])
