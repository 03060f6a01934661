"""Tests that the texts of notebooks say what their outputs show, and that the check finds what does not."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import index
import notebook_texts as texts

FIRST = """# Title

**What comes out**

* one
* two
* three

Small part: about 30 seconds on two cores. Full part: 6 runs by one command (section 5).

[← 00 Index](00_index.ipynb) · [index](00_index.ipynb) · [02 Data →](02_data.ipynb)"""


class Notebooks(unittest.TestCase):
    def test_texts(self):
        for path in map(Path, texts.find([])):
            with self.subTest(path.stem):
                self.assertEqual([], [f"cell {i}: {what}" for i, what in texts.problems(path) if not what.startswith("warning: ")])

    def test_index(self):
        """Each link leads somewhere, each number is where it is said to be, and page and thumbnails are those of the notebooks as they are."""
        self.assertEqual([], index.check())


class Check(unittest.TestCase):
    def numbers(self, text, code="", output="", html="", chart=None, study=""):
        data = {"text/plain": [output], "text/html": [html], "application/vnd.vegalite.v5+json": chart or {}}
        cells = [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": [code], "outputs": [{"data": data}]}]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.ipynb")
            path.write_text(json.dumps({"cells": cells}))
            texts.study_of(path).parent.mkdir()
            texts.study_of(path).write_text(study)
            return [what.split("'")[1] for _, what in texts.check_numbers(path, cells)]

    def test_what_is_a_number(self):
        stated = lambda text: [written.strip() for written, *_ in texts.stated(text)]
        self.assertEqual(["93.2 %", "−2.5 points", "1.3×", "4,000", "12 ms", "0.5"], stated("It has 93.2 %, −2.5 points, 1.3× of 4,000 in 12 ms; α = 0.5; 12 clients, 3 rounds."))
        self.assertEqual([], stated("`0.93`, $0.93$, $$x = 0.93$$ and\n```\n0.93\n```\n<!-- 0.93 --> <img width=\"933\"> [a](b_0.93.png)"))
        self.assertEqual([], stated("Li et al. 2020, arXiv 1812.06127, [1812.06127](x), section 4.2, Table 1.1, in 2017, 2NN, CIFAR-100, float32, 180°, Go 1.26.5, 10.3934/era.2023266"))
        self.assertEqual([], stated("## 3 · Sizes\n1. first\n\n| after 0.5 s |\n|---|\n"))
        self.assertEqual(["0.7"], stated("| a 0.5 |\n|---|\n| 0.7 |\n"))

    def test_where_it_may_be(self):
        self.assertEqual(["93.2 %"], self.numbers("93.2 %"))
        self.assertEqual([], self.numbers("93.2 %", output="accuracy 93.24 ± 0.10 %"))
        self.assertEqual(["93.2 %"], self.numbers("93.2 %", output="93.26"))
        self.assertEqual([], self.numbers("93.2 %", chart={"data": [{"y": 0.9321}]}))
        self.assertEqual(["93.2 s"], self.numbers("93.2 s", chart={"data": [{"y": 0.9321}]}))
        self.assertEqual([], self.numbers("−2.5 points", html="<td>−2.5 ± 0.1 points</td>"))
        self.assertEqual([], self.numbers("60,000 and 4,810", output="4810 parameters"))
        self.assertEqual([], self.numbers("2,000 of 2.5", code="const n = 2_000", study="LR: 2.5"))
        self.assertEqual(["429 s"], self.numbers("<!-- unchecked: 929, 33: an old machine -->929 s and 429 s, 33 %"))

    def first(self, text, name="01_fedavg.ipynb"):
        return [what for _, what in texts.check_first(name, [{"cell_type": "markdown", "source": [text]}])]

    def test_first_cell(self):
        self.assertEqual([], self.first(FIRST))
        self.assertEqual([], self.first(FIRST + "\n\nThen the problem."))
        self.assertIn("2 lines follow", self.first(FIRST.replace("* two\n", ""))[0])
        self.assertIn("'Small part", self.first(FIRST.replace("Small part", "Running time"))[0])
        self.assertIn("does not follow the title", self.first(FIRST.replace("**What comes out**", "What comes out"))[0])
        self.assertIn("instead of 00_index.ipynb · 02_data.ipynb", self.first(FIRST.replace("02_data", "03_data"))[0])
        self.assertEqual((None, "00_index.ipynb"), texts.neighbors("00_start.ipynb"))
        self.assertEqual("00_index.ipynb", texts.neighbors("01_fedavg.ipynb")[0])

    def test_code(self):
        cell = lambda code: [{"cell_type": "code", "source": [code]}]
        self.assertEqual([], list(texts.check_code(cell("\n".join(["x" * 160] * 40)))))
        self.assertIn("line 2 of the code has 161 characters", list(texts.check_code(cell("a\n" + "x" * 161)))[0][1])
        self.assertIn("warning: 41 lines", list(texts.check_code(cell("\n" * 40)))[0][1])

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(texts, "NOTEBOOKS", Path(folder)):
            path = Path(folder, "a.ipynb")
            cells = [{"cell_type": "markdown", "id": "c1", "source": ["## 3 · Who `wins`\n", '<a id="there"></a>\n', "```\n## no\n```"]}]
            path.write_text(json.dumps({"cells": cells}))
            for to in ["a.ipynb", "#there", "a.ipynb#3-·-Who-wins", "a.ipynb#3-%C2%B7-Who-wins", "a.ipynb#cell-id=c1", "https://x.example/", "."]:
                self.assertIsNone(texts.lost(path, to), to)
            for to in ["b.ipynb", "#no", "a.ipynb#3", "a.ipynb#cell-id=c2", "images/a.png"]:
                self.assertTrue(texts.lost(path, to), to)
            text = "[![p](images/p.png)](a.ipynb#x) and [α (b)](c.ipynb \"tip\"), `[no](d.ipynb)`, <img src=\"e.png\">"
            self.assertEqual({"a.ipynb#x", "images/p.png", "c.ipynb", "e.png"}, set(texts.links(text)))


if __name__ == "__main__":
    unittest.main()
