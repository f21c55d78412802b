# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The page of `urnic conform --html` in a browser. Its results are of a run that is said to have been
interrupted, so that no peer is needed."""
import json
import os
import pathlib
import subprocess

from page_test import By, PageTest

PEER, OWN = "127.0.0.92", "127.0.0.93"
CASES = ("rc/nak/invalid_request", "rc/send/immediate", "rc/ack/coalesced")
CAPTURE = pathlib.Path(__file__).resolve().parents[2] / "pcap_fixtures/vs_rnr.pcap"
HOSTILE = "came: </script><img src=x onerror='document.title=1'>"


class ConformPage(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.results = cls.folder / "results"
        cls.path = cls.folder / "report.html"
        cls.run_conform()  # no agent is there: all are UNKNOWN
        head, *lines = cls.results.read_text().splitlines()
        cases = {case["name"]: case for case in map(json.loads, lines)}
        failed, unknown, passed = (cases[name] for name in sorted(cases))
        failed |= {
            "verdict": "FAIL",
            "line": 7,
            "reason": HOSTILE,
            "capture": str(CAPTURE),
            "ladder": ["1 us  < SEND"],
        }
        passed |= {"verdict": "PASS", "reason": ""}
        cls.failed, cls.unknown, cls.passed = failed["name"], unknown["name"], passed["name"]
        cls.results.write_text("\n".join([head, *map(json.dumps, (failed, passed))]) + "\n")
        cls.run_conform("--html", cls.path)

    @classmethod
    def run_conform(cls, *options):
        filters = [word for name in CASES for word in ("--filter", name)]
        words = [
            os.environ["URNIC"],
            "conform",
            "--port",
            f"udp:{OWN}",
            "--token",
            "x",
            "--resume",
            cls.results,
        ]
        subprocess.run([*words, *filters, *options, PEER], capture_output=True, timeout=60)

    def open(self):
        self.browser.get_log("browser")  # forgets
        self.browser.get(self.path.as_uri())
        self.settle()

    def shown(self):
        names = self.browser.find_elements(By.CSS_SELECTOR, "#cases .name")
        return [name.text for name in names if name.is_displayed()]

    def press(self, verdict):
        self.browser.find_element(By.CSS_SELECTOR, f'[data-verdict="{verdict}"]').click()

    def test_shows_what_failed_and_the_rest_on_demand(self):
        self.open()
        self.assert_no_errors()
        self.assertEqual(self.text("h1"), f"urnic conform {PEER}")
        self.assertEqual(self.shown(), [self.failed])
        self.press("UNKNOWN")
        self.press("PASS")
        self.assertEqual(sorted(self.shown()), sorted([self.failed, self.unknown, self.passed]))
        self.press("FAIL")
        self.assertNotIn(self.failed, self.shown())

    def test_a_search_finds_names_rules_and_reasons(self):
        self.open()
        search = self.browser.find_element(By.ID, "search")
        search.send_keys("ONERROR")
        self.assertEqual(self.shown(), [self.failed])
        search.send_keys(" of nothing")
        self.assertEqual(self.shown(), [])
        self.assertIn("No case", self.browser.find_element(By.ID, "none").text)

    def test_a_failure_has_its_reason_and_the_ladder_of_the_view(self):
        self.open()
        self.browser.find_element(By.CSS_SELECTOR, "#cases details:not([hidden]) summary").click()
        self.settle()
        self.assertIn(HOSTILE, self.text(".facts"))
        self.assertIn("< SEND", self.text("#cases pre"))
        self.browser.switch_to.frame(self.browser.find_element(By.TAG_NAME, "iframe"))
        try:
            self.settle()
            packets = self.run_js("return view.data.packets.length")
            self.assertGreater(packets, 3)
            self.assertIn(self.failed, self.text("#title"))
        finally:
            self.browser.switch_to.default_content()
        self.assert_no_errors()
        self.assertEqual(self.browser.title, f"urnic conform {PEER}")
