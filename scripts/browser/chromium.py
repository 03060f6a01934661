"""The system's Chromium without a window, driven by Playwright, which downloads no browser of its own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from playwright.sync_api import Error, sync_playwright


class Failed(Error):
    """What does not hold, or an Error in the page."""


def until(seconds, what, ask, pause=0.3):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(pause)
    raise Failed(f"{what}: not within {seconds} s")


@contextlib.contextmanager
def process(args, log, **more):
    """Runs a program, and stops it with its children at the end of the block."""
    with open(log, "wb") as out:
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, **more)
    try:
        yield p
    finally:
        for sig in signal.SIGTERM, signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, sig)
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(15)


def program():
    mac = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"]
    names = [os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", *mac]
    for name in names:
        if name and (path := shutil.which(name)):
            return path
    sys.exit("the browser check needs Chromium or Chrome: apt install chromium, or set CHROME to the program")


@contextlib.contextmanager
def started():
    """Yields the page of a new Chromium."""
    with sync_playwright() as playwright:
        # Chromium refuses to sandbox itself as root.
        with playwright.chromium.launch(executable_path=program(), chromium_sandbox=os.geteuid() != 0, timeout=180_000) as browser:
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            page.on("dialog", lambda d: d.accept())  # "leave this page?"
            yield page


def click(page, element):
    """Clicks the middle of the element that this expression gives."""
    page.mouse.click(*page.evaluate(f"(() => {{ const e = {element}; e.scrollIntoView({{ block: 'nearest' }}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }})()"))
