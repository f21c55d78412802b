# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Pages that `urnic view` makes of captures: no error in the browser, and each packet is where it is clicked.
"""
import json
import os
import pathlib
import re
import subprocess

from page_test import PageTest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
JUDGES = PROJECT.parent / "shared"
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


class Captures(PageTest):
    def check(self, capture):
        page = self.folder / "capture.html"
        subprocess.run(
            [os.environ["URNIC"], "view", "-o", page, capture],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )
        data = json.loads(DATA.findall(page.read_text())[0])
        self.browser.get_log("browser")  # forgets
        self.browser.get(page.as_uri())
        self.assertEqual(self.text("#title"), capture.name)
        chosen = self.state()["connection"]
        packets = [
            index for index, packet in enumerate(data["packets"]) if packet.get("connection") == chosen
        ]
        self.assertEqual(self.state()["shown"], len(packets))
        for index in packets[:1] + packets[-1:]:
            self.show(index)
            place = self.run_js("return view.ladder.whereIs(arguments[0], 0.5)", index)
            self.click_at(place["x"], place["y"])
            shown = data["packets"][self.state()["packet"]]
            self.assertIn(f"frame {shown['seen'][0]['frame']}", self.text("#details"))
            self.assertEqual(self.field("BTH.PSN")[0], str(shown["psn"]))
        self.assert_no_errors()

    def check_all(self, folder):
        captures = sorted(folder.rglob("*.pcap")) if folder.is_dir() else []
        if not captures:
            self.skipTest(f"{folder} is not here")
        for capture in captures:
            with self.subTest(capture=capture.name):
                self.check(capture)

    def test_fixtures(self):
        self.check_all(PROJECT / "pcap_fixtures")

    def test_of_rdma_rxe(self):
        self.check_all(JUDGES / "captures/rxe")

    def test_of_other_people(self):
        self.check_all(JUDGES / "captures/public")
