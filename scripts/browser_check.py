"""Uses JupyterLab in a real, headless Chromium as a person would.

It opens a notebook, runs all its cells, and checks that the figures are drawn; asks for completion and for contextual help;
and presses the stop button while the README's first cell runs for 100,000 rounds.

It works on copies in .venv/browser, and leaves screenshots there. Chromium is driven over its own debugging protocol, with
the WebSocket client that comes with JupyterLab, so no driver program has to match the browser's version.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import nbformat
import websocket

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv" / "browser"
START_S, RUN_S, DRAW_S, HELP_S = 180, 900, 60, 60
ENDLESS = 100_000  # rounds


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


def chromium():
    mac = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"]
    names = [os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", *mac]
    for name in names:
        if name and (path := shutil.which(name)):
            return path
    sys.exit("the browser check needs Chromium or Chrome: apt install chromium, or set CHROME to the program")


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


class Page:
    """One page of a running Chromium."""

    def __init__(self, port):
        plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with plain.open(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            page = next(t for t in json.load(answer) if t["type"] == "page")
        self.ws = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60, http_no_proxy=["*"])
        self.sent = 0

    def call(self, method, **params):
        self.sent += 1
        self.ws.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while (answer := json.loads(self.ws.recv())).get("id") != self.sent:
            pass
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed("in the page: " + result["exceptionDetails"].get("exception", {}).get("description", "?"))
        return result["result"].get("value")

    def press(self, key, code, shift=False):
        for kind in "rawKeyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0)

    def click(self, element):
        """Clicks the middle of the element that this expression gives."""
        x, y = self.js(f"(() => {{ const r = ({element}).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }})()")
        for kind in "mouseMoved", "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    @contextlib.contextmanager
    def screenshot(self, name):
        """Leaves a screenshot of how the page is at the end of the block."""
        path = PLACE / f"{name}.png"
        try:
            yield
        finally:
            path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
            print(f"screenshot: {path.relative_to(ROOT)}", flush=True)


# What the check asks of JupyterLab; `panel` is the notebook that was last waited for.
HELPERS = """
globalThis.FIGURES = '.jp-OutputArea canvas, .jp-OutputArea svg.marks'
globalThis.fedkit = {
  get panel() { return [...(globalThis.jupyterapp?.shell?.widgets('main') ?? [])].find(w => w.context?.path === this.path) },
  ready(path) {
    this.path = path
    const p = this.panel, k = p?.sessionContext?.session?.kernel
    // Its status stays 'unknown' until the first cell, since GoNB announces none at the start.
    return p?.context?.isReady && p.sessionContext.isReady && k?.connectionStatus === 'connected' && k.name
  },
  run(what) {
    const p = this.panel
    // Otherwise cells out of sight are not drawn.
    p.content.notebookConfig = { ...p.content.notebookConfig, windowingMode: 'none' }
    jupyterapp.shell.activateById(p.id)
    jupyterapp.commands.execute('notebook:run-' + what)
  },
  // Adds a cell at the end with the cursor behind its last character.
  async write(source) {
    const notebook = this.panel.content
    notebook.activeCellIndex = notebook.widgets.length - 1
    await jupyterapp.commands.execute('notebook:insert-cell-below')
    const cell = notebook.activeCell
    cell.model.sharedModel.setSource(source)
    notebook.mode = 'edit'
    await cell.ready
    cell.editor.setCursorPosition(cell.editor.getPositionAt(source.length))
    cell.editor.focus()
  },
  cells() { return this.panel.content.widgets.filter(c => c.model.type === 'code' && c.model.sharedModel.source.trim()) },
  outputs(cell) { return cell.model.outputs.toJSON() },
  // What a reader sees below the last cell.
  text() { return this.cells().at(-1).outputArea.node.innerText },
  state() {
    const cells = this.cells()
    const errors = cells.flatMap((c, i) => this.outputs(c).filter(o => o.output_type === 'error').map(o => `cell ${i + 1}: ${o.evalue}`))
    const idle = this.panel.sessionContext.session.kernel.status === 'idle'
    return { cells: cells.length, done: cells.filter(c => c.model.executionCount).length, errors, idle }
  },
  // For each Vega figure: how many pixels of its canvas differ from the first one, or how many marks its SVG has.
  figures() {
    const vega = o => Object.keys(o.data ?? {}).some(m => m.startsWith('application/vnd.vega'))
    return this.cells().flatMap(cell => {
      const wanted = this.outputs(cell).filter(vega).length
      const shown = [...cell.node.querySelectorAll(FIGURES)].map(this.ink)
      return [...shown, ...Array(Math.max(0, wanted - shown.length)).fill(0)].slice(0, wanted)
    })
  },
  ink(figure) {
    if (figure.tagName !== 'CANVAS') return figure.querySelectorAll('[class*=mark-] path, [class*=mark-] line').length
    if (!figure.width || !figure.height) return 0
    const d = new Uint32Array(figure.getContext('2d').getImageData(0, 0, figure.width, figure.height).data.buffer)
    return d.reduce((n, x) => n + (x !== d[0]), 0)
  },
  show(i) { document.querySelectorAll(FIGURES)[i]?.scrollIntoView({ block: 'center' }) },
}; true
"""


def prepare(name):
    """Copies the notebooks' folder, and clears the notebook to open: all outputs then come from this run."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(ROOT / "notebooks", PLACE / "notebooks", ignore=shutil.ignore_patterns(".*", "runs"))
    path = PLACE / "notebooks" / name
    if not path.is_file():
        sys.exit(f"the browser check opens notebooks/{name}, which does not exist")
    nb = nbformat.read(path, 4)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(nb, path)


def prepare_endless(name):
    """Writes a notebook with the README's first cell, for so many rounds that only the stop button ends it."""
    first = re.search(r"```go\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    cell, n = re.subn(r"Rounds: \d+", f"Rounds: {ENDLESS}", first[1])
    if n != 1:
        sys.exit("the README's first Go block is not a cell with Rounds, as the check of the stop button expects")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nb.metadata["kernelspec"] = {"name": "fedkit", "display_name": "Go (fedkit)", "language": "go"}
    nbformat.write(nb, PLACE / "notebooks" / name)


def server_url(server, log):
    def ask():
        if server.poll() is not None:
            raise Failed(f"./scripts/lab ended with {server.returncode}:\n{log.read_text()}")
        return re.search(r"(http://(?:127\.0\.0\.1|localhost):\d+)/lab\?token=(\w+)", log.read_text())

    return until(START_S, "./scripts/lab --no-browser printing its address", ask).groups()


def wait_for(page, name):
    kernel = until(START_S, f"{name} and its kernel", lambda: page.js(HELPERS) and page.js(f"fedkit.ready({json.dumps(name)})"))
    if kernel != "fedkit":
        raise Failed(f"{name} runs on kernel {kernel!r}, not on fedkit")


def ran(page):
    state = page.js("fedkit.state()")
    if state["errors"]:
        raise Failed(state["errors"][0])
    return state["idle"] and state["done"] == state["cells"] and state


def drawn(page):
    figures = page.js("fedkit.figures()")
    return figures if figures and all(figures) else None


def check_figures(page, name):
    begin = time.monotonic()
    page.js("fedkit.run('all-cells'); true")
    state = until(RUN_S, "running all cells", lambda: ran(page))
    took = time.monotonic() - begin
    if not page.js("fedkit.figures().length"):
        raise Failed("no cell has a Vega figure among its outputs")
    try:
        figures = until(DRAW_S, "drawing the figures", lambda: drawn(page))
    except Failed as e:
        raise Failed(f"{e}; marks or pixels in each: {page.js('fedkit.figures()')}") from None
    print(f"{name}: {state['cells']} cells ran in {took:.1f} s without an error; figures drawn: {len(figures)} (pixels or marks: {figures})")


def check_help(page):
    """Presses Tab and Shift-Tab as a reader does who writes the next cell."""

    def ask(code, shift, answer, wanted):
        page.js(f"fedkit.write({json.dumps(code)})")
        begin = time.monotonic()

        def shown():
            page.press("Tab", 9, shift)  # again, if there was no answer in time
            with contextlib.suppress(Failed):
                return until(5, answer, lambda: page.js(f"document.querySelector('{answer}:not(.lm-mod-hidden)')?.innerText"), pause=0.05)

        said = until(HELP_S, f"{answer} on {code!r}", shown)
        took = time.monotonic() - begin
        if not re.search(wanted, said, re.DOTALL):
            raise Failed(f"{answer} on {code!r} has no {wanted!r}: {said}")
        page.press("Escape", 27)
        return f"{took:.2f} s"

    # No notebook has this word, so Lab cannot offer it without asking the kernel.
    first, again = (ask("%%\nplot.P", False, ".jp-Completer", "Participation") for _ in range(2))
    doc = ask("%%\nfedkit.Run", True, ".jp-Tooltip", r"func fedkit\.Run\(.*\nRun ")
    print(f"completion came after {first} and {again}, contextual help after {doc}")


def check_stop(page):
    """Presses the stop button, which ends a run between two rounds: the cell goes on with the history so far."""
    page.js("fedkit.run('cell'); true")

    def under_way():
        ran(page)  # for its errors
        seen = re.search(rf"round (\d+)/{ENDLESS}", page.js("fedkit.text()"))
        return seen and int(seen[1]) > 5

    until(DRAW_S, "a few rounds", under_way, pause=0.05)
    page.click("fedkit.panel.toolbar.node.querySelector('[data-command=\"notebook:interrupt-kernel\"]')")
    begin = time.monotonic()
    until(DRAW_S, "the end of the cell after its stop", lambda: ran(page), pause=0.05)
    took = time.monotonic() - begin
    if "stopped" not in (said := page.js("fedkit.text()")):
        raise Failed(f"the live line of a stopped run does not say so: {said}")
    figures = until(DRAW_S, "drawing the figures of the stopped run", lambda: drawn(page))
    if len(figures) < 2:
        raise Failed("a stopped run has only its live figure: the cell did not go on to the next statement")

    page.js("fedkit.write('%%\\nprintln(len(\"still there\"))')")
    page.js("fedkit.run('cell'); true")
    until(DRAW_S, "the cell after the stopped one", lambda: ran(page) and "11" in page.js("fedkit.text()"))
    print(f"the stop button ended the cell after {took:.1f} s: {said.strip().splitlines()[0]}")


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "01_fedavg.ipynb"
    endless = "endless.ipynb"
    browser = chromium()
    prepare(name)
    prepare_endless(endless)
    log = PLACE / "lab.log"
    log.touch(mode=0o600)  # the token is in it
    options = "--headless=new --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --window-size=1300,1000 --remote-debugging-port=0 --remote-allow-origins=*".split()
    if os.geteuid() == 0:
        options.append("--no-sandbox")  # Chromium refuses to sandbox itself as root

    lab = [str(ROOT / "scripts" / "lab"), "--no-browser", "--LabApp.expose_app_in_browser=True", f"--LabApp.workspaces_dir={PLACE / 'workspaces'}"]
    env = {**os.environ, "FEDKIT_NOTEBOOKS": str(PLACE / "notebooks")}
    with contextlib.ExitStack() as stack:
        profile = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fedkit-chromium-", ignore_cleanup_errors=True)))
        server = stack.enter_context(process(lab, log, env=env))
        program = [browser, *options, f"--user-data-dir={profile}", "about:blank"]
        stack.enter_context(process(program, PLACE / "chromium.log"))
        base, token = server_url(server, log)
        ports = profile / "DevToolsActivePort"
        until(START_S, "Chromium starting", lambda: ports.is_file() and ports.read_text().strip())
        page = Page(ports.read_text().split()[0])
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)  # a headless page has no focus, and without it Lab has no current notebook
        with page.screenshot("screenshot"):
            page.call("Page.navigate", url=f"{base}/lab/tree/{name}?token={token}")
            wait_for(page, name)
            check_figures(page, name)
            check_help(page)
            page.js("fedkit.show(0); true")
            time.sleep(0.5)
        with page.screenshot("stop"):
            page.js(f"jupyterapp.commands.execute('docmanager:open', {{ path: '{endless}' }}); true")
            wait_for(page, endless)
            check_stop(page)


if __name__ == "__main__":
    # A terminated check must still take its server and browser down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except Failed as e:
        sys.exit(f"browser check: {e}")
