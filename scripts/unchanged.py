"""Knows whether anything that a notebook uses has changed since it last passed the check.

What it uses: its code; the packages that the code names, and what they import; the other files of its folder that the code names (by
their names, with any suffix); the data sets on this machine, if it reads any; and what runs it. A stamp in .venv/stamps/notebooks keeps the key of all that.
"""

import hashlib
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
STAMPS = ROOT / ".venv" / "stamps" / "notebooks"
READS = re.compile(r"\.\s*(MNIST|MNISTOrDigits|Loader)\b|\b(studies|preset)\s*\.|\bdatasets\s*\.\s*Name\b")  # what finds data sets in files
WHERE = "FEDKIT_DATA", "FEDKIT_CACHE", "FEDKIT_OFFLINE"  # settings that say which


def fresh(path, now):
    """Says whether the notebook passed with this key. A notebook without a key never did."""
    stamp = STAMPS / path.name
    return bool(now) and stamp.is_file() and stamp.read_text() == now


def keep(path, now):
    STAMPS.mkdir(parents=True, exist_ok=True)
    part = STAMPS / f".{path.name}.{os.getpid()}"
    part.write_text(now)
    part.replace(STAMPS / path.name)


def forget(path):
    (STAMPS / path.name).unlink(missing_ok=True)


def key(path):
    """Returns a word that changes with anything that the notebook uses, or "" if one of its packages cannot be built."""
    code = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    text = "\n".join(code)
    built = builds(text)
    if "" in built.values():
        return ""
    beside = [p for p in path.parent.rglob("*") if p.suffix != ".ipynb" and p.stem in text and not hidden(p.relative_to(path.parent))]
    used = [code, sorted(built.items()), contents(beside), data() if READS.search(text) else [], machine()]
    return hashlib.sha256(json.dumps(used).encode()).hexdigest()


def hidden(path):
    """Says whether the check runs without this file: what begins with a dot, pictures of texts, one's own notebooks, and stored results, which it computes again."""
    return any(part.startswith(".") or part in ("runs", "images", "mine") for part in path.parts)


def builds(code):
    """Returns the build IDs of the packages of this module that the code names, and of all that these import.

    A cell may leave out an import, which GoNB then adds. So a package counts as soon as its name stands before a dot.
    """
    words = set(re.findall(r"\b(\w+)\s*\.", code))
    found = set()
    for path, (name, own, _, deps) in packages().items():
        if own and (name in words or f'"{path}"' in code):
            found |= {path, *deps}
    # The second half of a build ID is what came out of the compiler; the first one changes with every comment.
    return {path: packages()[path][2].rpartition("/")[2] for path in found - {"C", "unsafe"}}


@cache
def packages():
    """Returns name, whether it is of this module, build ID and imports, direct or not, of every package by its path.

    A build ID changes with the package's source, with the version of Go and with the compiled packages that it imports itself.
    """
    line = r'{{.ImportPath}}|{{.Name}}|{{with .Module}}{{if .Main}}own{{end}}{{end}}|{{.BuildID}}|{{join .Deps " "}}'
    command = ["go", "list", "-e", "-export", "-deps", "-f", line, "./..."]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    rows = (row.split("|") for row in said.splitlines())
    return {path: (name, own == "own", build, deps.split()) for path, name, own, build, deps in rows}


@cache
def data():
    """Returns where data sets are looked for, and name, size and time of every file there. Compiled programs, which lie beside them and come
    and go with every run, do not count."""
    env, home = os.environ, Path.home()
    folders = [env.get("FEDKIT_DATA"), env.get("FEDKIT_CACHE")]
    folders += [Path(cache, "fedkit") for cache in (env.get("XDG_CACHE_HOME") or home / ".cache", home / "Library/Caches")]
    return [env.get(name) for name in WHERE] + [files(folder) for folder in folders if folder]


@cache
def machine():
    """Returns what runs a notebook: the kernel and this runner by content, XLA's plugin by size and time, and settings."""
    paths = [*ROOT.glob("scripts/kernel/*"), *ROOT.glob("fedkit/cmd/cell/*.go"), *ROOT.glob("fedkit/internal/nearest/*.go"), *ROOT.glob("scripts/*notebook*.py"), Path(__file__)]
    paths += [ROOT / name for name in ("go.mod", "go.sum", "scripts/requirements.txt", "scripts/setup.sh", ".venv/cell-ldflags")]
    plugins = [files(Path.home() / folder / "go-xla") for folder in (".local/lib", "Library/Application Support")]
    settings = {k: v for k, v in os.environ.items() if k.startswith(("FEDKIT_", "GO", "PJRT_", "XLA_")) and k not in WHERE}
    return [contents(paths), plugins, sorted(settings.items())]


def contents(paths):
    return sorted((os.path.relpath(p, ROOT), hashlib.sha256(p.read_bytes()).hexdigest()) for p in paths if p.is_file())


def files(folder):
    found = []
    for at, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "programs"]
        for path in filter(os.path.isfile, (os.path.join(at, name) for name in names)):
            about = os.stat(path)
            found.append((path, about.st_size, about.st_mtime_ns))
    return sorted(found)
