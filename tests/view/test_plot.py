# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The page of `urnic sim --plot` in a browser."""
import os
import subprocess

from page_test import ActionBuilder, By, PageTest


class Plot(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = cls.folder / "plot.html"
        subprocess.run(
            [
                os.environ["URNIC"],
                "sim",
                "--topology",
                "dumbbell",
                "--workload",
                "two_flows",
                "--until",
                "20ms",
                "--plot",
                str(cls.path),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )

    def open(self):
        self.browser.get_log("browser")  # forgets
        self.browser.get(self.path.as_uri())
        self.settle()

    def panel(self, metric):
        return self.browser.find_element(By.CSS_SELECTOR, f'.panel[data-metric="{metric}"]')

    def lines(self, metric):
        """What is drawn: the d of each path that has one."""
        paths = self.panel(metric).find_elements(By.CSS_SELECTOR, "path.line")
        return [path.get_attribute("d") for path in paths if path.get_attribute("d")]

    def test_loads_without_an_error_and_has_a_panel_for_each_metric(self):
        self.open()
        self.assert_no_errors()
        metrics = [
            panel.get_attribute("data-metric")
            for panel in self.browser.find_elements(By.CSS_SELECTOR, ".panel")
        ]
        self.assertEqual(metrics[:4], ["queue_bytes", "rate_bps", "goodput_bps", "round_trip_us"])
        self.assertEqual(len(self.lines("goodput_bps")), 2)
        self.assertIn("two_flows on dumbbell, seed 1", self.text("h1"))
        self.assertIn("queue pairs:", self.text("#report"))

    def test_a_name_hides_its_line(self):
        self.open()
        name = self.panel("goodput_bps").find_elements(By.CSS_SELECTOR, ".legend button")[0]
        name.click()
        self.assertEqual(len(self.lines("goodput_bps")), 1)
        self.assertEqual(name.get_attribute("aria-pressed"), "false")
        name.click()
        self.assertEqual(len(self.lines("goodput_bps")), 2)

    def test_the_cursor_shows_the_values_at_that_time(self):
        self.open()
        self.move(0.25)  # 5 ms: the second flow begins at 10 ms
        first, second = self.values("goodput_bps")
        self.assertRegex(first, r"^9\d(\.\d+)?G$")
        self.assertEqual(second, "0")

    def test_dragging_zooms_all_panels_and_a_double_click_shows_all(self):
        self.open()
        whole = self.lines("queue_bytes")
        ticks = self.ticks("goodput_bps")
        actions = ActionBuilder(self.browser)
        pointer = actions.pointer_action
        pointer.move_to_location(*self.place(0.25)).pointer_down().move_to_location(
            *self.place(0.5)
        ).pointer_up()
        actions.perform()
        self.settle()
        self.assertNotEqual(self.ticks("goodput_bps"), ticks)
        self.assertNotEqual(self.lines("queue_bytes"), whole)
        for tick in self.ticks("goodput_bps"):
            self.assertTrue(4.9 <= float(tick.split()[0]) <= 10.1, tick)
        self.run_js(
            "document.querySelector('.panel svg').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
        )
        self.settle()
        self.assertEqual(self.lines("queue_bytes"), whole)

    def test_is_readable_in_the_dark(self):
        self.media("dark")
        self.open()
        self.assertEqual(
            self.run_js("return getComputedStyle(document.body).backgroundColor"), "rgb(21, 25, 30)"
        )

    def ticks(self, metric):
        return [
            tick.text
            for tick in self.panel(metric).find_elements(By.CSS_SELECTOR, ".axis:first-of-type .tick text")
        ]

    def values(self, metric):
        return [value.text for value in self.panel(metric).find_elements(By.CSS_SELECTOR, ".legend .value")]

    def place(self, share):
        """Where that share of the time is in the first panel, pixels."""
        box = self.run_js(
            """const box = document.querySelector('.panel svg[role]').getBoundingClientRect();
                             return [box.left, box.top, box.width, box.height]"""
        )
        return int(box[0] + box[2] * (62 + share * (1100 - 62 - 24)) / 1100), int(box[1] + box[3] / 2)

    def move(self, share):
        actions = ActionBuilder(self.browser)
        actions.pointer_action.move_to_location(*self.place(share))
        actions.perform()
        self.settle()
