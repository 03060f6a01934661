"""Tests that a run of notebooks ends when it is told to, with all that it has started, that checks at the same time keep apart, and
that figures have pictures."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook, new_output

import locks
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
                said, _ = p.communicate(timeout=600)
                self.assertEqual((128 + number, ""), (p.returncode, said))
                self.assertEqual([], psutil.wait_procs(started, timeout=300)[1])
                self.assertEqual(["begun", "endless.ipynb"], sorted(os.listdir(folder)))


class Figures(unittest.TestCase):
    def test_figures_get_pictures_or_say_why_not(self):
        spec = json.loads(Path(run_notebooks.ROOT, "fedkit/chart/testdata/log.json").read_text())
        outputs = [new_output("display_data", {"application/vnd.vegalite.v5+json": s, "text/plain": "f"}) for s in (spec, {**spec, "layer": 3})]
        cell, said = new_code_cell("f.Show()", execution_count=1, outputs=outputs), []
        run_notebooks.draw(cell, said.append)
        good, bad = cell.outputs
        self.assertEqual([f"cell 1: {bad.data['text/plain'][3:-1]}"], said)
        self.assertTrue(bad.data["text/plain"].startswith("f\n(no PNG of this figure: ") and "image/png" not in bad.data, bad.data["text/plain"])
        size = good.metadata["image/png"]
        self.assertTrue(560 < size["width"] < 700 and 320 < size["height"] < 500, size)
        self.assertLess(len(good.data["image/png"]), 30_000)
        with mock.patch.object(run_notebooks, "PICTURE", 1_000), self.assertRaisesRegex(ValueError, "kB are too much"):
            run_notebooks.picture(spec)
        self.assertEqual(base64.b64decode(good.data["image/png"]), run_notebooks.picture(spec)[0])


HOLDS = """
import locks, pathlib, sys
with locks.own_folder(pathlib.Path(sys.argv[1])) as folder:
    print(folder.name, flush=True)
    sys.stdin.read()
"""
WAITS = """
import locks, sys
with locks.locked(sys.argv[1], say="waiting"):
    print("begins")
"""


class SideBySide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.copies = self.folder / "copies"

    def test_checks_keep_apart(self):
        path = self.folder / "notebooks" / "notebook.ipynb"
        path.parent.mkdir()
        nbformat.write(new_notebook(cells=[new_code_cell("a := 1", execution_count=1)]), path)
        ran = []

        def run(copy, _):
            ran.append(copy)
            result = copy.with_name(f"result {len(ran)}")
            result.touch()
            if len(ran) == 1:
                self.assertFalse(run_notebooks.main())  # while the first is at work
            self.assertEqual([copy, result], sorted(copy.parent.iterdir()), "another check was here")
            return None, {0: 1.0}

        copies = mock.patch.object(run_notebooks, "COPIES", self.copies)
        runs, quiet = mock.patch.object(run_notebooks, "run", run), mock.patch("builtins.print")
        stamps = mock.patch.object(run_notebooks.unchanged, "STAMPS", self.folder / ".stamps")
        with copies, runs, quiet, stamps, mock.patch("sys.argv", ["run", "--check", "--all", str(path)]):
            self.assertFalse(run_notebooks.main())
        self.assertEqual(2, len(ran))
        self.assertEqual(["lock"], os.listdir(self.copies))

    def start(self, program):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return subprocess.Popen([sys.executable, "-c", program, self.copies], cwd=Path(__file__).parent, **pipes)

    def test_one_waits_for_another(self):
        with locks.locked(self.copies):
            waits = self.start(WAITS)
            self.assertEqual("waiting\n", waits.stdout.readline())
        self.assertEqual("begins\n", waits.communicate(timeout=600)[0])

    def test_what_killed_checks_leave_is_removed(self):
        with self.start(HOLDS) as killed, self.start(HOLDS) as alive:
            names = [p.stdout.readline().strip() for p in (killed, alive)]
            killed.kill()
            killed.wait()
            self.assertLessEqual(set(names), set(os.listdir(self.copies)))
            with locks.own_folder(self.copies) as own:
                self.assertEqual({"lock", names[1], own.name}, set(os.listdir(self.copies)))
            alive.communicate()
        self.assertEqual(0, alive.returncode)
        self.assertEqual(["lock"], os.listdir(self.copies))


if __name__ == "__main__":
    unittest.main()
