"""Keeps processes that run at the same time out of each other's folders. A lock ends with its process, however that ends."""

import contextlib
import fcntl
import shutil
import sys
import tempfile
from pathlib import Path


@contextlib.contextmanager
def locked(file, wait=True, say=""):
    """Holds the lock of this file. If another process has it, prints say and waits, or, without wait, raises BlockingIOError."""
    with open(file, "a") as f:  # programs that are started meanwhile do not inherit it
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            if say:
                print(say, file=sys.stderr, flush=True)
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def own_folder(parent):
    """Makes a folder in parent for this process alone, and removes it at the end; and those that killed processes have left."""
    parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        with locked(parent / "lock"):  # so that nobody sees a folder before it is locked
            for old in parent.iterdir():
                with contextlib.suppress(OSError), locked(old / "lock", wait=False):
                    shutil.rmtree(old)
            folder = Path(tempfile.mkdtemp(dir=parent))
            stack.enter_context(locked(folder / "lock"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder
