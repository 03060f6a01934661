"""Checks the texts of committed notebooks against their outputs, and prints one line for each problem.

    python scripts/notebook_texts.py [NN_name…]

A notebook has, in its first cell, a title, three findings, how long it takes and links to its neighbors. A number that its prose
states (a decimal, a percentage, a number with a unit, any number from 100 on) is found in an output or in the code of the same
notebook or in its study's file, rounded as the text has it. Published numbers stand in the card, so they are found there. For those
that cannot be found, a cell of text says why, in a comment: <!-- unchecked: 929, 429: seconds of a machine that is not here -->.
Links lead to files, headings, anchors and cells that exist. Lines of code have at most 160 characters; cells of more than 40 lines
are a warning.
"""

import json
import re
import sys
import unicodedata
from bisect import bisect_left
from html import unescape
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
INDEX = "00_index.ipynb"
MAX_COLUMNS, MAX_LINES = 160, 40

NUMBER = re.compile(r"(?<![\w.,])[+−-]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\d])")
UNIT = re.compile(r"(?:\s|\u00a0|\u202f)*(?:%|points?\b|ms\b|\u00b5s\b|s\b|seconds?\b|min\b|minutes?\b|hours?\b|h\b|[kMGT]?B\b|bytes\b|×|times\b)")
# What looks like a number and is none: dates, papers, sections, years of a citation.
NO_NUMBER = re.compile(
    r"\d{4}-\d\d-\d\d|(?:arXiv:?\s*)?\b\d{4}\.\d{5}\b|\b10\.\d{4,}/\S+|(?:et al\.?|and \w+),? \(?\d{4}|\(\d{4}\)|\b(?:19|20)\d\d\b(?!\s*(?:%|points|clients|rounds|images|ms|s|MB))"
    r"|\b(?:sections?|Tables?|Figs?\.|Figures?|page|pp?\.|line|lines|Theorem|Algorithm|Alg\.|notebooks?|Lemma|slides?)\s[\d.–-]+(?:(?:,| and| to|–)\s[\d.]+)*"
    r"|\bv?\d+\.\d+\.\d+\b|CIFAR-\d+|ResNet-?\d+|float\d+|int\d+|SHA-?\d+|\bRFC \d+|https?://\S+"
)  # fmt: skip
SIZES = {784, 60_000, 10_000, 50_000, 1_797, 1_438, 359}  # of MNIST, CIFAR-10 and the digits: pixels, images, training and test images
UNCHECKED = re.compile(r"<!--\s*unchecked:\s*([^:]+):\s*(.+?)\s*-->", re.DOTALL)
LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^()\s>]+(?:\([^()]*\)[^()\s]*)?)>?(?:\s+\"[^\"]*\")?\)")
HTML_LINK = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
TITLE = re.compile(r"# (\S.*)")


def read(path):
    """Returns a notebook's cells: kind, id, source, and the outputs' texts and Vega-Lite specifications."""
    return json.loads(path.read_text())["cells"]


def source(cell):
    return "".join(cell["source"])


# Numbers


def prose(text):
    """Leaves of a cell of text what states something: no code, formulas, comments, addresses, heads of tables."""
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    text = re.sub(r"^Small part: .*", " ", text, flags=re.MULTILINE)
    text = re.sub(r"^(```|~~~).*?^\1", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+)(?:(?!\1).)+?\1", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\|.*\|[ \t]*\n(?=\|[ :|-]+\|)", "\n", text, flags=re.MULTILINE)
    text = LINK.sub(lambda m: " " + m[2] + " ", text)
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"^(#+) \d+ · ", r"\1 ", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*\d+\. ", " ", text, flags=re.MULTILINE)
    return NO_NUMBER.sub(" ", unicodedata.normalize("NFC", text))


def stated(text):
    """Yields the numbers that a text states, as written, with their digits after the point."""
    text = prose(text)
    for m in NUMBER.finditer(text):
        whole, digits = m[1].replace(",", ""), m[2] or ""
        after = text[m.end() :]
        if re.match(r"[A-Za-z_°]", after) and not UNIT.match(after):  # 2NN, 90°
            continue
        if digits or len(whole) >= 3 or UNIT.match(after):
            unit = UNIT.match(after)
            yield m[0] + (unit[0] if unit else ""), float(whole + digits), len(digits.lstrip(".")), bool(unit and "%" in unit[0] or unit and "point" in unit[0])


ANY = re.compile(r"(?<![\w.])[+−-]?(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?|(?<![\w.])\.\d+")


def numbers_in(text):
    for m in ANY.finditer(text):
        try:
            yield abs(float(m[0].replace(",", "").replace("_", "").replace("−", "-")))
        except ValueError:
            pass


def leaves(value):
    """Yields all numbers and texts of a JSON value."""
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif not isinstance(value, (str, int, float, bool, type(None))):
        for v in value:
            yield from leaves(v)


def shown(cell):
    """Yields the texts of a code cell's outputs, without charts and images."""
    for out in cell.get("outputs", []):
        yield "".join(out.get("text", ""))
        for mime, data in out.get("data", {}).items():
            if mime == "text/html":
                yield unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<style.*?</style>", " ", "".join(data), flags=re.DOTALL)))
            elif mime.startswith("text/"):
                yield "".join(data)


def drawn(cell):
    """Yields the numbers of a code cell's charts."""
    for out in cell.get("outputs", []):
        for mime, data in out.get("data", {}).items():
            if "vegalite" in mime:
                for leaf in leaves(data):
                    if isinstance(leaf, str):
                        yield from numbers_in(leaf)
                    else:
                        yield abs(leaf)


class Known:
    """Knows the numbers of a notebook's code and outputs."""

    def __init__(self, cells, study=""):
        code = [c for c in cells if c["cell_type"] == "code"]
        found = {n for c in code for text in [source(c), *shown(c)] for n in numbers_in(text)} | {n for c in code for n in drawn(c)}
        self.sorted = sorted(found | SIZES | set(numbers_in(study)))

    def has(self, value, digits, share):
        """Says whether some number rounds to this one; a share, 0.93, also to a percentage, 93."""
        for scale in (1, 100) if share else (1,):
            half = 0.5 * 10**-digits / scale * (1 + 1e-9) + 1e-12
            at = bisect_left(self.sorted, value / scale - half)
            if at < len(self.sorted) and self.sorted[at] <= value / scale + half:
                return True
        return False


def study_of(path):
    """Returns the file with the study of a notebook, which not every one has."""
    return path.parent / "studies" / f"{path.stem}.go"


def check_numbers(path, cells):
    study = study_of(path)
    known = Known(cells, study.read_text() if study.exists() else "")
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "markdown":
            continue
        text, excused = source(cell), set()
        for m in UNCHECKED.finditer(text):
            excused |= {n for n in numbers_in(m[1])}
        for written, value, digits, share in stated(text):
            if value not in excused and not known.has(value, digits, share):
                yield i, f"{written.strip()!r} is in no output and in no code of this notebook"


# The first cell


def neighbors(name):
    """Returns the notebooks before and after this one: 00_start, 00_index, 01 … 21."""
    names = sorted({p.name for p in NOTEBOOKS.glob("*.ipynb")} | {INDEX}, key=lambda n: (n[:2], n != "00_start.ipynb", n))
    at = names.index(name)
    return (names[at - 1] if at else None), (names[at + 1] if at + 1 < len(names) else None)


def check_first(name, cells):
    if not cells or cells[0]["cell_type"] != "markdown":
        yield 0, "the first cell is no text"
        return
    lines = source(cells[0]).rstrip("\n").split("\n")
    if not TITLE.fullmatch(lines[0]):
        yield 0, f"begins with {lines[0]!r} instead of '# Title'"
    links = next((line for line in lines if "](" in line and ("←" in line or "→" in line)), "")
    before, after = neighbors(name)
    want = [n for n in (before, INDEX if name != INDEX else None, after) if n]
    want = list(dict.fromkeys(want))  # the index is the neighbor of two
    have = list(dict.fromkeys(m[3] for m in LINK.finditer(links)))
    if have != want:
        yield 0, f"links lead to {' · '.join(have) or 'nothing'} instead of {' · '.join(want)}: [← …]({want[0]}) · [index]({INDEX}) · [… →]({want[-1]})"
    if name == INDEX:
        return
    if lines[1:4] != ["", "**What comes out**", ""]:
        yield 0, "'**What comes out**' does not follow the title, with an empty line before and after it"
        return
    body = "\n".join(lines[4:]).split("\n\n")
    findings = [line for line in body[0].split("\n")]
    if len(findings) != 3 or not all(line.startswith("* ") for line in findings):
        yield 0, f"{len(findings)} lines follow '**What comes out**' instead of three findings, each a line that begins with '* '"
    if not (len(body) > 1 and body[1].startswith("Small part: ")):
        yield 0, "'Small part: about … seconds on two cores.' does not follow the findings"
    elif study_of(NOTEBOOKS / name).exists() and "Full part: " not in body[1]:
        yield 0, "there is a study, but the line 'Small part: …' has no 'Full part: … runs by one command (section …).'"
    if not (len(body) > 2 and body[2] == links):
        yield 0, "the links do not follow the line 'Small part: …'"


# Code


def check_code(cells):
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        lines = source(cell).split("\n")
        for k, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield i, f"line {k} of the code has {len(line)} characters: at most {MAX_COLUMNS}"
        if len(lines) > MAX_LINES:
            yield i, f"warning: {len(lines)} lines of code: {MAX_LINES} read more easily"


# Links


def anchors(path):
    """Returns what a link into a notebook can lead to: its headings as JupyterLab names them, its anchors and its cells."""
    found = set()
    for cell in read(path):
        found.add("cell-id=" + cell.get("id", ""))
        if cell["cell_type"] == "markdown":
            text = re.sub(r"^(```|~~~).*?^\1", " ", source(cell), flags=re.DOTALL | re.MULTILINE)
            found |= set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
            for m in re.finditer(r"^#{1,6} +(.+?)\s*$", text, flags=re.MULTILINE):
                found.add(re.sub(r"[*`]", "", m[1]).replace(" ", "-"))
    return found


def links(text):
    """Yields the addresses of a text's links and pictures."""
    text = re.sub(r"^(```|~~~).*?^\1", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+)(?:(?!\1).)+?\1", "code", text, flags=re.DOTALL)
    for m in LINK.finditer(text):
        yield m[3]
        for inner in LINK.finditer(m[2]):  # a picture that is a link
            yield inner[3]
    yield from HTML_LINK.findall(text)


def lost(path, to):
    """Returns why a link of a file leads nowhere, or None. Pages of the web are not looked at."""
    if re.match(r"[a-z]+:", to):
        return None
    file, _, fragment = to.partition("#")
    target = (path.parent / unquote(file)).resolve() if file else path
    if not target.exists():
        return f"there is no {file}" if target != (NOTEBOOKS / INDEX).resolve() else None  # until it is written
    if fragment and target.suffix == ".ipynb" and unquote(fragment) not in anchors(target):
        return f"{target.name} has no heading, anchor or cell {unquote(fragment)!r}"
    return None


def check_links(path, cells):
    for i, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            for to in links(source(cell)):
                if why := lost(path, to):
                    yield i, f"the link {to!r} leads nowhere: {why}"


def problems(path):
    """Yields the problems of a notebook, with the number of the cell, from 0."""
    cells = read(path)
    yield from check_first(path.name, cells)
    if path.name != INDEX:  # index.py looks for its numbers, in the notebooks that it leads to
        yield from check_numbers(path, cells)
    yield from check_code(cells)
    yield from check_links(path, cells)


def find(names):
    if not names:
        return sorted(NOTEBOOKS.glob("*.ipynb"))
    found = []
    for name in names:
        path = next((p for p in (Path(name), NOTEBOOKS / name, NOTEBOOKS / f"{name}.ipynb", *sorted(NOTEBOOKS.glob(f"{name}*.ipynb"))) if p.is_file()), None)
        if path is None:
            sys.exit(f"no notebook {name!r} in {NOTEBOOKS.name}/")
        found.append(path.resolve())
    return found


def main(names):
    n = 0
    for path in find(names):
        for cell, what in problems(path):
            print(f"{path.stem}: cell {cell}: {what}")
            n += not what.startswith("warning: ")
    print(f"{n} problems" if n else "no problem")
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
