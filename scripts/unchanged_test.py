"""Tests that a notebook counts as changed when it must, and only then."""

import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import run_notebooks
import unchanged


class Unchanged(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "notebook.ipynb"
        stamps = mock.patch.object(unchanged, "STAMPS", Path(folder.name) / ".stamps")
        stamps.start()
        self.addCleanup(stamps.stop)

    def key(self, code, text="", outputs=()):
        nbformat.write(new_notebook(cells=[new_markdown_cell(text), new_code_cell(code, outputs=list(outputs))]), self.path)
        unchanged.data.cache_clear()
        unchanged.machine.cache_clear()
        return unchanged.key(self.path)

    def test_only_what_it_uses_counts(self):
        first = self.key("_ = strategy.FedAvg{}")
        self.assertTrue(first)
        self.assertEqual(first, self.key("_ = strategy.FedAvg{}", "# Text", [new_output("stream", text="3 rounds")]))
        self.assertNotEqual(first, self.key("_ = strategy.FedSGD{}"))
        (self.path.parent / "runs").mkdir()
        (self.path.parent / "runs" / "history.jsonl").write_text("{}")
        self.assertEqual(first, self.key("_ = strategy.FedAvg{}"))
        (self.path.parent / "table.csv").write_text("1,2")
        self.assertEqual(first, self.key("_ = strategy.FedAvg{}"))
        reads = "datasets.CSV{File: `table.csv`}"
        named = self.key(reads)
        (self.path.parent / "table.csv").write_text("1,3")
        self.assertNotEqual(named, self.key(reads))

    def test_data_count_for_what_reads_them(self):
        reads = ["datasets.MNIST()", "datasets.\n\tMNISTOrDigits()", '(&datasets.Loader{}).Make(ctx, "mnist")', 'studies.Full("08_fedprism")', 'datasets.Name("mnist")']
        reads_none = ["datasets.Digits()", "fmt.Println(`MNIST`)", ""]
        with tempfile.TemporaryDirectory() as data, mock.patch.dict(os.environ, {"FEDKIT_DATA": data}):
            keys = [[self.key(code) for code in reads + reads_none]]
            (Path(data) / "mnist").mkdir()
            (Path(data) / "mnist" / "labels").write_text("7")
            keys += [[self.key(code) for code in reads + reads_none]]
            for name in unchanged.WHERE:
                os.environ[name] = ""
                keys += [[self.key(code) for code in reads + reads_none]]
        self.assertEqual([len(keys)] * len(reads) + [1] * len(reads_none), [len(set(k)) for k in zip(*keys)])

    def test_compiled_programs_are_no_data(self):
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, {"FEDKIT_CACHE": cache}):
            first = self.key("datasets.MNIST()")
            (Path(cache) / "programs").mkdir()
            (Path(cache) / "programs" / "one").write_text("7")
            self.assertEqual(first, self.key("datasets.MNIST()"))

    def test_every_reader_is_known(self):
        readers = set(re.findall(r"\nfunc ([A-Z]\w*)\(\) \(?\*Dataset\b", (unchanged.ROOT / "datasets" / "named.go").read_text()))
        self.assertEqual({"MNIST", "MNISTOrDigits"}, readers)
        self.assertEqual([], [name for name in readers if not unchanged.READS.search(f"datasets.{name}()")])

    def test_settings_count(self):
        with mock.patch.dict(os.environ, {"GOMLX_BACKEND": "xla:cpu"}):
            first = self.key("")
            os.environ["GOMLX_BACKEND"] = "xla:cuda"
            second = self.key("")
            os.environ["PJRT_PLUGIN_LIBRARY_PATH"] = "/lib"
            self.assertEqual(3, len({first, second, self.key("")}))

    def test_packages_count_with_all_they_import(self):
        engine, chart = "fedkit.example/fedkit/internal/engine", "fedkit.example/fedkit/chart"
        imported, named = unchanged.builds('import "fedkit.example/fedkit/strategy"'), unchanged.builds("_ = strategy.FedAvg{}")
        self.assertEqual(imported, named)
        self.assertTrue(named[engine])
        self.assertNotIn(chart, named)
        self.assertEqual({}, unchanged.builds('import "math"\n_ = math.Pi'))

        changed = {p: (*about[:2], about[2] + "x" * (p == engine), about[3]) for p, about in unchanged.packages().items()}
        before = [self.key(code) for code in ("_ = strategy.FedAvg{}", "_ = chart.Line{}")]
        with mock.patch.object(unchanged, "packages", lambda: changed):
            after = [self.key(code) for code in ("_ = strategy.FedAvg{}", "_ = chart.Line{}")]
        self.assertEqual([False, True], [a == b for a, b in zip(before, after)])

        broken = {p: (*about[:2], "" if p == engine else about[2], about[3]) for p, about in unchanged.packages().items()}
        with mock.patch.object(unchanged, "packages", lambda: broken):
            key = self.key("_ = strategy.FedAvg{}")
            unchanged.keep(self.path, key)
            self.assertFalse(unchanged.fresh(self.path, key))

    def test_what_changes_after_the_copy_counts(self):
        self.key("a := 1")
        edit = mock.patch.object(run_notebooks, "copy", lambda paths, place: self.key("a := 2"))
        passes = mock.patch.object(run_notebooks, "run", lambda path, timeout: (None, {1: 1.0}))
        as_committed = mock.patch.object(run_notebooks, "committed", lambda path: None)
        quiet = mock.patch("builtins.print")
        with edit, passes, as_committed, quiet, mock.patch("sys.argv", ["run", "--check", str(self.path)]):
            self.assertFalse(run_notebooks.main())
        self.assertFalse(unchanged.fresh(self.path, unchanged.key(self.path)))

    def test_stamps(self):
        self.assertFalse(unchanged.fresh(self.path, "a"))
        unchanged.keep(self.path, "a")
        self.assertTrue(unchanged.fresh(self.path, "a"))
        self.assertFalse(unchanged.fresh(self.path, "b"))
        unchanged.forget(self.path)
        self.assertFalse(unchanged.fresh(self.path, "a"))


if __name__ == "__main__":
    unittest.main()
