"""Executes notebooks headless, in place, each with its own kernel, and prints one line for each.

A notebook that fails stays as it was; its outputs are kept in .venv/failed. With --check nothing is written to notebooks/:
a copy is executed, and the committed file is checked as well. A copy is not executed if it passed before and nothing that it
uses has changed (see unchanged.py), unless --all asks for it. Copies are executed side by side, one per processor and four at
most, since a notebook alone leaves processors idle. In place they go one by one: some show how long something took.
"""

import argparse
import base64
import contextlib
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
import psutil
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

import locks
import unchanged

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "fedkit" / "chart"))
import convert  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
COPIES = ROOT / ".venv" / "check"  # each check has a folder of its own there
MAX_BYTES = 1_200_000
MAX_SECONDS = 45  # that a notebook takes alone. Only a warning, because the machine may be busy.
BESIDE = 1.5  # times as long that it takes beside others: 1.4 to 1.6 on two processors
CHART_ERROR = "chart error: "  # what a cell shows instead of a chart
PICTURE = 45_000  # bytes that a figure's PNG may have before it gets fewer colors, and then fewer pixels
KERNEL = {"name": "fedkit", "display_name": "Go (fedkit)", "language": "go"}

kernels = set()  # process IDs of those at work
ending = threading.Event()


def find(names):
    """Returns the notebooks with these names: paths, or names within notebooks/ with or without .ipynb."""
    if not names:
        return sorted(NOTEBOOKS.glob("*.ipynb"))
    found = []
    for name in names:
        tries = [Path(name), NOTEBOOKS / name, NOTEBOOKS / f"{name}.ipynb"]
        path = next((p.resolve() for p in tries if p.is_file()), None)
        if path is None:
            have = ", ".join(p.name for p in sorted(NOTEBOOKS.glob("*.ipynb"))) or "none"
            sys.exit(f"no notebook {name!r}; in notebooks/: {have}")
        found.append(path)
    return found


def strip(nb):
    """Removes what differs from run to run but means nothing."""
    nb.metadata["kernelspec"] = dict(KERNEL)
    nb.metadata.pop("widgets", None)
    for cell in nb.cells:
        cell.metadata.pop("execution", None)


def draw(cell, say):
    """Adds PNGs to a cell's figures, for where notebooks are only shown. A figure without one says why."""
    for out in cell.get("outputs", []):
        spec = out.get("data", {}).get("application/vnd.vegalite.v5+json")
        if spec:
            try:
                file, width, height = picture(spec)
            except Exception as e:  # without vl-convert, or whatever it does not draw
                why = f"no PNG of this figure: {(str(e).strip() or type(e).__name__).splitlines()[0]}"
                say(f"cell {cell.execution_count}: {why}")
                out.data["text/plain"] = f"{out.data.get('text/plain', '')}\n({why})"
                continue
            out.data["image/png"] = base64.b64encode(file).decode()
            out.metadata["image/png"] = {"width": width, "height": height}


def picture(spec):
    """Returns a figure as the bytes of a PNG, with few colors, and its width and height in CSS pixels."""
    from PIL import Image

    large = Image.open(io.BytesIO(convert.draw(spec, "png"))).convert("RGB")
    width, height = (round(n / 2) for n in large.size)
    for scale, colors in (2, 64), (2, 32), (1.5, 32), (1, 32):
        image = large if scale == 2 else large.resize((round(scale * width), round(scale * height)), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        image.quantize(palette=palette(image, spec, colors), dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        if file.tell() <= PICTURE:
            break
    if file.tell() > 4 * PICTURE:
        raise ValueError(f"{file.tell() // 1000} kB are too much for a notebook")
    return file.getvalue(), width, height


def palette(image, spec, colors):
    """Returns as many of the most frequent colors, besides those that the figure names and two tints of each. Others are edges of letters
    and lines: nobody sees which."""
    from PIL import Image

    named = [bytes.fromhex(c) for c in dict.fromkeys(["333333", *re.findall(r'"#([0-9a-f]{6})"', json.dumps(spec))])][:48]
    tints = [tuple(round(255 + share * (v - 255)) for v in c) for c in named for share in (1, 2 / 3, 1 / 3)]
    frequent = [c for _, c in sorted(image.getcolors(1 << 24), reverse=True)]
    apart = {}  # Pillow takes colors this near for one
    for c in [(255, 255, 255), *tints, *frequent]:
        apart.setdefault(tuple(v >> 3 for v in c), c)
    of = Image.new("P", (1, 1))
    of.putpalette([v for c in list(apart.values())[: min(256, len(tints) + colors)] for v in c])
    return of


def texts(nb):
    """Yields every text in the outputs, without the images."""
    for cell in nb.cells:
        for out in cell.get("outputs", []):
            yield out.get("text", "")
            yield "\n".join(out.get("traceback", []))
            for mime, data in sorted(out.get("data", {}).items(), reverse=True):  # text/plain before text/html
                if not mime.startswith("image/"):
                    yield data if isinstance(data, str) else str(data)


def flaws(nb, size, foreign):
    """Yields what keeps a notebook from being committed although it ran."""
    if size > MAX_BYTES:
        yield f"{size // 1000} kB, more than {MAX_BYTES // 1000}"
    for said in texts(nb):
        for line in said.splitlines():
            if CHART_ERROR in line:
                yield f"a chart was not drawn: {line.partition(CHART_ERROR)[2].strip()[:120]}"
                return
            if any(path in line for path in foreign):
                yield f"an output names a path of this machine: {line.strip()[:120]}"
                return


def machine_paths(*more):
    """Returns paths that must not be in an output. HOME counts only with the slash: without it, it may be a word."""
    home = os.environ.get("HOME", "").rstrip("/")
    return [str(ROOT), *([home + "/"] if home else []), *map(str, more)]


def failure(nb, error):
    """Returns the cell's number, as in Lab's [n], and the first line that says what went wrong."""
    code = [c for c in nb.cells if c.cell_type == "code" and c.source.strip()]
    ran = [i for i, c in enumerate(code, 1) if c.get("execution_count") or c.get("outputs")]
    where = f"cell {ran[-1]}" if ran else "before the first cell"
    if not isinstance(error, CellExecutionError):
        said = str(error).strip().splitlines() or [type(error).__name__]
    else:
        said = [s.strip() for s in error.evalue.splitlines() if s.strip()] or [error.ename]
        printed = "".join(o.text for o in code[ran[-1] - 1].outputs if o.get("name") == "stderr").splitlines() if ran else []
        if said[0].startswith("exit status ") and printed:
            said = [f"{printed[-1].strip()}: {said[0]}"]
    # "a imports b: no such package" comes on two lines.
    return f"{where}: {' '.join(said[:2]) if said[0].endswith(' imports') else said[0]}"


def text(nb):
    """Returns the file's content: as nbformat writes it, but with each chart's specification on one line, not one per number."""
    plots = {}
    copy = nbformat.from_dict(nb)
    for cell in copy.cells:
        for out in cell.get("outputs", []):
            for mime, data in out.get("data", {}).items():
                if mime.startswith("application/vnd.vegalite"):
                    token = f"figure-{len(plots)}-{os.getpid()}"
                    plots[f'"{token}"'] = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                    out["data"][mime] = token
    written = nbformat.writes(copy)
    for token, plot in plots.items():
        written = written.replace(token, plot)
    return written + "\n"


def write(nb, path):
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text(nb), encoding="utf-8")
    if path.exists():
        shutil.copymode(path, part)
    os.replace(part, path)


def run(path, timeout, pictures=False):
    """Executes one notebook in place, and draws its figures if asked to. Returns what went wrong, or None, and the seconds that processors worked, by cell."""
    worked, drawn, artist = {}, [], ThreadPoolExecutor(1)

    def begin(**_):
        kernels.add(client.km.provisioner.pid)
        if ending.is_set():
            raise RuntimeError("stopped")

    def over(cell, cell_index, **_):  # after every cell, since it is not known of a kernel that is gone
        if pictures:  # while the next cells are built
            drawn.append(artist.submit(draw, cell, lambda why: print(f"     {path.name}, {why}", flush=True)))
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(client.km.provisioner.pid).cpu_times()[:4]  # its own and its children's
            worked[cell_index] = sum(times) - sum(worked.values())

    nb = nbformat.read(path, 4)
    strip(nb)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    problem = None
    # A separate folder for what a killed kernel leaves behind.
    with tempfile.TemporaryDirectory(prefix="fedkit-", ignore_cleanup_errors=True) as tmp:
        client = NotebookClient(
            nb,
            kernel_name="fedkit",
            timeout=timeout,
            startup_timeout=600,
            coalesce_streams=True,
            record_timing=False,
            on_cell_start=begin,
            on_cell_executed=over,
            resources={"metadata": {"path": str(path.parent)}},
        )
        env = {**os.environ, "TMPDIR": tmp, "FEDKIT_HELP": "off", "JPY_SESSION_NAME": ""}
        log = open(Path(tmp) / "kernel.log", "w+")  # GoNB's own log, of interest only if it does not start
        try:
            client.execute(env=env, stdout=log, stderr=log)
        except (CellExecutionError, CellTimeoutError, DeadKernelError, NoSuchKernel, RuntimeError, OSError) as e:
            problem = failure(nb, e)
            if not isinstance(e, CellExecutionError):
                log.seek(0)
                problem += "".join(f"\n     {line.rstrip()}" for line in log.readlines()[-5:])
        finally:
            kernels.discard(client.km and client.km.provisioner and client.km.provisioner.pid)
        log.close()
        for done in drawn:
            done.result()
        artist.shutdown()
        strip(nb)
        if problem is None:
            problem = next(flaws(nb, len(text(nb).encode()), machine_paths(tmp)), None)
    if problem is None:
        write(nb, path)
        return None, worked
    kept = ROOT / ".venv" / "failed" / path.name
    kept.parent.mkdir(parents=True, exist_ok=True)
    write(nb, kept)
    return f"{problem}\n     (its outputs: {os.path.relpath(kept)})", worked


def end():
    """Ends the kernels at work, with their cells. Others do not begin."""
    ending.set()
    for pid in list(kernels):
        with contextlib.suppress(psutil.Error):
            kernel = psutil.Process(pid)
            for p in [kernel, *kernel.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    p.kill()


def committed(path):
    """Returns what is wrong with a notebook as it is in the repository, or None."""
    nb = nbformat.read(path, 4)
    code = [c for c in nb.cells if c.cell_type == "code" and c.source.strip()]
    if any(o.output_type == "error" for c in code for o in c.outputs):
        return "committed with a failed cell"
    if code and not any(c.execution_count for c in code):
        return f"committed without outputs; run ./scripts/lab run {path.stem}"
    return next(flaws(nb, path.stat().st_size, machine_paths()), None)


def copy(paths, place):
    """Makes the folders' copies for the check."""
    for folder in {p.parent for p in paths}:
        skipped = lambda at, names: [n for n in names if unchanged.hidden(Path(n))]
        shutil.copytree(folder, place / folder.name, ignore=skipped, dirs_exist_ok=True)


def check(path, key, place, args):
    """Checks the committed notebook and executes its copy. Returns what is wrong, or None, and the seconds of work by cell, None if
    nothing has changed."""
    problem = committed(path)
    if problem is not None:
        return problem, {}
    if not args.all and unchanged.fresh(path, key):
        return None, None
    unchanged.forget(path)
    problem, worked = run(place / path.parent.name / path.name, args.timeout)
    if problem is None:
        unchanged.keep(path, key)
    return problem, worked


def main():
    parser = argparse.ArgumentParser(prog="./scripts/lab run", description=__doc__.splitlines()[0])
    parser.add_argument("notebook", nargs="*", help="a path, or a name in notebooks/ (default: all of them)")
    parser.add_argument("--check", action="store_true", help="execute a copy, write nothing to notebooks/")
    parser.add_argument("--all", action="store_true", help="with --check: also those that passed and have not changed since")
    parser.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds a cell may take (default 600)")
    args = parser.parse_args()

    paths = find(args.notebook)
    if not paths:
        print("no notebooks yet")
    with locks.own_folder(COPIES) if args.check else contextlib.nullcontext() as place:
        return execute(paths, place, args)


def spent(worked):
    """Says how long processors worked for a notebook, and for its three slowest cells."""
    cells = sorted(worked, key=worked.get, reverse=True)[:3]
    slowest = ", ".join(f"cell {i} {worked[i]:.0f} s" for i in cells)
    return f"processors worked {sum(worked.values()):.0f} s" + (f" ({slowest})" if slowest else "")


def execute(paths, place, args):
    """Executes or, in this place, checks notebooks, and prints a line for each. Returns whether one failed."""
    keys = {}
    if args.check:
        keys = {path: unchanged.key(path) for path in paths}  # before copies are made: what changes later counts as changed
        copy(paths, place)
    beside = max(1, min(4, len(paths), getattr(os, "process_cpu_count", os.cpu_count)() or 1)) if args.check else 1

    def one(path):
        begin = time.monotonic()
        problem, worked = check(path, keys[path], place, args) if args.check else run(path, args.timeout, pictures=True)
        return path, problem, time.monotonic() - begin, worked

    failed, slow = False, []
    pool = ThreadPoolExecutor(beside)  # not the main thread, where nbclient takes the signals for itself
    try:
        for done in as_completed([pool.submit(one, path) for path in paths]):
            path, problem, took, worked = done.result()
            note = "(unchanged)" if worked is None else spent(worked) if args.check else ""
            if args.check and worked is not None and took / (BESIDE if beside > 1 else 1) > MAX_SECONDS:
                note += f": slow, more than {MAX_SECONDS} s"
                slow.append(path.stem)
            line = f"{path.name}  {took:6.1f} s"
            print(f"ok   {line}  {note}".rstrip() if problem is None else f"FAIL {line}  {problem}", flush=True)
            failed = failed or problem is not None
    except BaseException:  # a signal, too
        pool.shutdown(wait=False, cancel_futures=True)
        end()
        raise
    if slow:
        print(f"slow, more than {MAX_SECONDS} s alone, unless the machine was busy: {', '.join(sorted(slow))}")
    return failed


if __name__ == "__main__":
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    sys.exit(main())
