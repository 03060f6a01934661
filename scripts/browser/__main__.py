"""Uses JupyterLab in a real, headless Chromium as a person would: opens notebooks, types cells, presses keys and buttons, makes
mistakes, closes the page in mid-run, and checks what is seen. `./scripts/test browser` installs what is missing and makes it; after
that, `cd scripts && python -m browser [CASE…]` takes some of the cases.

It works in .venv/browser, and leaves a screenshot of every case there. Times are printed: they are for a machine that does
nothing else.
"""

import contextlib
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import nbformat

import locks

from . import cases, chromium, lab
from .chromium import Error

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv" / "browser"


def prepare():
    """Copies the notebooks' folder, without outputs: all then come from this run."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(ROOT / "notebooks", PLACE / "notebooks", ignore=shutil.ignore_patterns(".*", "runs", "mine"))
    for path in (PLACE / "notebooks").glob("*.ipynb"):
        nb = nbformat.read(path, 4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(nb, path)
    for name in [*cases.ALL, *cases.MORE]:
        empty = nbformat.v4.new_notebook()
        empty.metadata["kernelspec"] = {"name": "fedkit", "display_name": "Go (fedkit)", "language": "go"}
        nbformat.write(empty, PLACE / "notebooks" / f"{name}.ipynb")


def run(name, at):
    """Runs one case, and returns whether it held."""
    try:
        said = cases.ALL[name](at)
        print(f"ok   {name}: {said}", flush=True)
        return True
    except Error as e:
        print(f"FAIL {name}: {e}", flush=True)
    except Exception:  # the next case may still say something
        print(f"FAIL {name}: {traceback.format_exc()}", flush=True)
    finally:
        with contextlib.suppress(Error):
            at.photograph(name)
    return False


def main():
    names = sys.argv[1:] or list(cases.ALL)
    if unknown := set(names) - set(cases.ALL):
        sys.exit(f"no case {sorted(unknown)}; there are: {' '.join(cases.ALL)}")
    # Side by side, two checks would share the folder, and be too slow.
    with locks.locked(PLACE.with_suffix(".lock"), say=f"waiting for another browser check of {ROOT}"):
        check(names)


def check(names):
    prepare()
    log = PLACE / "lab.log"
    log.touch(mode=0o600)  # the token is in it
    program = [str(ROOT / "scripts" / "lab"), "--no-browser", "--LabApp.expose_app_in_browser=True", f"--LabApp.workspaces_dir={PLACE / 'workspaces'}"]
    env = {**os.environ, "FEDKIT_NOTEBOOKS": str(PLACE / "notebooks")}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(chromium.process(program, log, env=env))
        page = stack.enter_context(chromium.started())
        at = lab.Lab(page, *lab.address(server, log), PLACE)
        failed = [name for name in names if not run(name, at)]
    print(f"screenshots: {PLACE.relative_to(ROOT)}/*.png")
    if failed:
        sys.exit(f"browser check failed: {' '.join(failed)}")


if __name__ == "__main__":
    # A terminated check must still take its server and browser down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except Error as e:
        sys.exit(f"browser check: {e}")
