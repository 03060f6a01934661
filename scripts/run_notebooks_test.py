"""Tests that a run of notebooks ends when it is told to, with all that it has started, and how a notebook's time is judged."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook

import run_notebooks

ENDLESS = """
import "os"
%%
os.WriteFile("begun", nil, 0o666)
for {
}"""


class Runs(unittest.TestCase):
    def test_a_signal_ends_the_kernels(self):
        for number in signal.SIGTERM, signal.SIGINT:
            with self.subTest(number), tempfile.TemporaryDirectory() as folder:
                path, begun = Path(folder, "endless.ipynb"), Path(folder, "begun")
                nbformat.write(new_notebook(cells=[new_code_cell(ENDLESS)]), path)
                program = [sys.executable, run_notebooks.__file__, str(path)]
                p = subprocess.Popen(program, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.addCleanup(p.kill)
                while not begun.exists():
                    self.assertIsNone(p.poll(), "it ended by itself")
                    time.sleep(0.05)
                started = psutil.Process(p.pid).children(recursive=True)
                self.assertTrue(any(s.name().startswith("gonb_") for s in started), started)
                p.send_signal(number)
                said, _ = p.communicate(timeout=60)
                self.assertEqual((128 + number, ""), (p.returncode, said))
                self.assertEqual([], psutil.wait_procs(started, timeout=10)[1])
                self.assertEqual(["begun", "endless.ipynb"], sorted(os.listdir(folder)))


if __name__ == "__main__":
    unittest.main()
