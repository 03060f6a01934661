"""A headless Chromium, driven over its own debugging protocol with the WebSocket client that comes with JupyterLab: no driver
program has to match the browser's version."""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import websocket

OPTIONS = "--headless=new --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --window-size=1300,1000 --remote-debugging-port=0 --remote-allow-origins=*".split()
CONTROL, SHIFT = 2, 8


class Failed(Exception):
    pass


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
def started(profile, log):
    """Yields the page of a new Chromium with its profile in this folder."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to sandbox itself as root
    with process([program(), *OPTIONS, *root, f"--user-data-dir={profile}", "about:blank"], log):
        ports = profile / "DevToolsActivePort"
        until(180, "Chromium starting", lambda: ports.is_file() and ports.read_text().strip())
        yield Page(ports.read_text().split()[0])


class Page:
    """One page of a running Chromium."""

    def __init__(self, port):
        plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with plain.open(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            page = next(t for t in json.load(answer) if t["type"] == "page")
        self.ws = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60, http_no_proxy=["*"])
        self.sent = 0
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)  # a headless page has no focus, and without it Lab has no current notebook

    def call(self, method, **params):
        self.sent += 1
        self.ws.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while (answer := json.loads(self.ws.recv())).get("id") != self.sent:
            if answer.get("method") == "Page.javascriptDialogOpening":  # "leave this page?"
                self.ws.send(json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}))
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def go(self, url):
        self.call("Page.enable")  # or nobody answers its dialogs
        self.call("Page.navigate", url=url)

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed("in the page: " + result["exceptionDetails"].get("exception", {}).get("description", "?"))
        return result["result"].get("value")

    def press(self, key, code, modifiers=0):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in "keyDown" if text else "rawKeyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers, **(text if kind == "keyDown" else {}))

    def type(self, text):
        """Types a text, all at once, where the cursor is."""
        self.call("Input.insertText", text=text)

    def click(self, element):
        """Clicks the middle of the element that this expression gives."""
        x, y = self.js(f"(() => {{ const e = {element}; e.scrollIntoView({{ block: 'nearest' }}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }})()")
        for kind in "mouseMoved", "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def resize(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
