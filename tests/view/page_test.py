# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A page of `urnic view` in a browser, and what tests do with it."""
import os
import pathlib
import tempfile
import unittest

import make_page
import sample_data

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionBuilder
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = ActionBuilder = By = Keys = None


def why_not():
    if webdriver is None:
        return "python3-selenium is not installed"
    return next(
        (
            f"{path} is not installed"
            for path in (CHROMIUM, DRIVER, str(make_page.D3))
            if not os.path.exists(path)
        ),
        "",
    )


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in (
        "--headless=new",
        "--disable-gpu",
        "--force-prefers-reduced-motion",
        "--window-size=1280,800",
    ):
        options.add_argument(word)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service(DRIVER), options=options)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False},
    )
    return browser


@unittest.skipIf(why_not(), why_not())
class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.data = sample_data.make(120)
        make_page.write_page(cls.folder / "sample.html", cls.data, "a test")

    def setUp(self):
        self.media("light")

    def media(self, scheme):
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "features": [
                    {"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": "reduce"},
                ]
            },
        )

    def open(self, data=None, title="a test"):
        path = self.folder / "sample.html"
        if data is not None:
            path = self.folder / "other.html"
            make_page.write_page(path, data, title)
        self.browser.get_log("browser")  # forgets
        self.browser.get(path.as_uri())
        self.settle()

    def settle(self):
        """Waits for two frames; then the page has drawn what the test wants."""
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));"
        )

    def run_js(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def state(self):
        self.settle()
        return self.run_js("return view.state()")

    def press(self, *keys):
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)
        self.settle()

    def text(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).get_property("textContent")

    def show(self, packet):
        """Selects it, with its neighbours apart."""
        self.run_js(
            "view.select.packet(arguments[0]); view.range.toReadable(view.scale.placeOf(view.cursor)); view.range.zoom(0.3, view.scale.placeOf(view.cursor));",
            packet,
        )
        self.settle()

    def click_at(self, x, y):
        builder = ActionBuilder(self.browser)
        builder.pointer_action.move_to_location(round(x), round(y)).pointer_down().pointer_up()
        builder.perform()
        self.settle()

    def field(self, name):
        """Text and bytes of a field of the details."""
        row = self.browser.find_element(By.CSS_SELECTOR, f'[data-field="{name}"]')
        word = row.find_elements(By.CSS_SELECTOR, ".word")
        value = row.find_element(By.CSS_SELECTOR, ".value").get_property("textContent")
        word = word[0].get_property("textContent") if word else ""
        return (
            value[: len(value) - len(word)],
            word,
            row.find_element(By.CSS_SELECTOR, ".bytes").get_property("textContent"),
        )

    def pixel(self, x, y):
        """The colour on the ladder at this place of the window."""
        return tuple(
            self.run_js(
                """
            const canvas = view.byId("ladder-canvas"), box = canvas.getBoundingClientRect();
            return [...canvas.getContext("2d").getImageData(Math.round(arguments[0] - box.left), Math.round(arguments[1] - box.top), 1, 1).data].slice(0, 3);""",
                x,
                y,
            )
        )

    def distance(self, place, colour):
        """Of what is drawn there from this colour: lines have soft edges."""
        return sum(abs(a - b) for a, b in zip(self.pixel(*place), colour))

    def assert_no_errors(self):
        self.assertEqual(
            [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"], []
        )
