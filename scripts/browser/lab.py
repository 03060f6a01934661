"""JupyterLab in a page, used as a person does: typing into cells, pressing keys, clicking buttons."""

import contextlib
import json
import re
import time
from pathlib import Path

from .chromium import Error, Failed, click, until

START_S, RUN_S, DRAW_S = 180, 900, 60
HELPERS = Path(__file__).with_name("lab.js").read_text()


def address(server, log):
    """Returns the address and the token that a starting ./scripts/lab prints."""

    def ask():
        if server.poll() is not None:
            raise Failed(f"./scripts/lab ended with {server.returncode}:\n{log.read_text()}")
        return re.search(r"(http://(?:127\.0\.0\.1|localhost):\d+)/lab\?token=(\w+)", log.read_text())

    return until(START_S, "./scripts/lab --no-browser printing its address", ask).groups()


class Lab:
    """A page that shows JupyterLab."""

    def __init__(self, page, base, token, place):
        self.page, self.base, self.token, self.place = page, base, token, place

    @property
    def notebooks(self):
        return self.place / "notebooks"

    def photograph(self, name):
        self.page.screenshot(path=self.place / f"{name}.png")

    def open(self, name):
        """Loads the page again with this notebook."""
        self.page.goto(f"{self.base}/lab/tree/{name}?reset&token={self.token}", wait_until="commit", timeout=60_000)
        return Notebook(self.page, name)

    def also(self, name):
        """Opens one more notebook in the page."""
        self.page.evaluate(f"jupyterapp.commands.execute('docmanager:open', {{ path: {json.dumps(name)} }}); true")
        return Notebook(self.page, name)

    def leave(self):
        self.page.goto("about:blank", wait_until="commit", timeout=60_000)

    def theme(self, name):
        self.page.evaluate(f"jupyterapp.commands.execute('apputils:change-theme', {{ theme: 'JupyterLab {name}' }})")
        until(DRAW_S, f"the theme {name}", lambda: self.page.evaluate(f"document.body.dataset.jpThemeLight === '{str(name == 'Light').lower()}'"))


class Notebook:
    def __init__(self, page, name):
        self.page, self.name = page, name
        self.look()

    def look(self):
        """Brings the notebook to the front."""
        ask = lambda: self.page.evaluate(HELPERS) and self.page.evaluate(f"fedkit.ready({json.dumps(self.name)})")
        kernel = until(START_S, f"{self.name} and its kernel", ask)
        if kernel != "fedkit":
            raise Failed(f"{self.name} runs on kernel {kernel!r}, not on fedkit")

    def button(self, command):
        click(self.page, f"fedkit.button('notebook:{command}')")

    def write(self, source):
        """Types a new cell at the end."""
        if self.page.evaluate("fedkit.source()?.trim() !== ''"):
            self.page.evaluate("fedkit.panel.content.activeCellIndex = fedkit.panel.content.widgets.length - 1; true")
            self.button("insert-cell-below")
            until(DRAW_S, "a new cell", lambda: self.page.evaluate("fedkit.source() === ''"), 0.05)
        click(self.page, "fedkit.next.node.querySelector('.cm-content')")
        self.page.keyboard.insert_text(source)
        until(DRAW_S, "typing", lambda: self.page.evaluate(f"fedkit.source() === {json.dumps(source)}"), 0.05)

    def start(self, source):
        """Types a cell and presses Shift-Enter."""
        self.write(source)
        self.page.keyboard.press("Shift+Enter")
        self.began = time.monotonic()

    def run(self, source, seconds=RUN_S):
        """Returns what a reader sees below the cell when it is over, and how long that took."""
        self.start(source)
        return self.end(seconds)

    def end(self, seconds=RUN_S):
        over = lambda: self.page.evaluate("!fedkit.running() && fedkit.state().idle")
        until(seconds, "the end of the cell", over, 0.02)
        took = time.monotonic() - self.began
        self.page.evaluate("fedkit.show()")
        return self.text(), took

    def text(self):
        return self.page.evaluate("fedkit.text()").replace("\u00a0", " ").strip()

    def sees(self, pattern, seconds=DRAW_S, pause=0.02):
        """Waits until the text below the last cell has the pattern, and returns the match."""
        try:
            return until(seconds, repr(pattern), lambda: re.search(pattern, self.text()), pause)
        except Error as e:
            raise Failed(f"{e}; the cell shows: {self.text()}") from None

    def run_all(self):
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells'); true")
        begin = time.monotonic()
        return until(RUN_S, "running all cells", self.ran), time.monotonic() - begin

    def ran(self):
        self.page.evaluate("document.querySelector('.jp-OutputArea [id^=explore_] button')?.click()")  # sliders wait for Stop
        state = self.page.evaluate("fedkit.state()")
        if state["errors"]:
            raise Failed(state["errors"][0])
        return state["idle"] and state["done"] == state["cells"] and state

    def figures(self):
        """Waits until all figures are drawn, and returns how much is in each."""

        def drawn():
            figures = self.page.evaluate("fedkit.figures()")
            return figures if figures and all(figures) else None

        try:
            return until(DRAW_S, "drawing the figures", drawn)
        except Error as e:
            raise Failed(f"{e}; marks or pixels in each: {self.page.evaluate('fedkit.figures()')}") from None
