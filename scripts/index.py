"""Makes notebooks/00_index.ipynb and its thumbnails from the rows of index.yaml and from the notebooks as they are committed.

    python scripts/index.py            makes them
    python scripts/index.py --check    says what is not as it would be made

The gallery has each notebook's title, its first finding and a figure. Papers are those of the notebooks' cards: every number that a
card reports, with the number here. Documents are the rows of the file: what a section, slide or figure shows, and where that is. A
number "here" is found in the outputs of the notebook that the row leads to.
"""

import base64
import io
import json
import re
import sys
from functools import cache
from html import unescape
from pathlib import Path

import yaml
from PIL import Image, ImageOps

from notebook_texts import INDEX, NOTEBOOKS, Known, links, lost, neighbors, read, shown, source
from run_notebooks import palette

ROWS = Path(__file__).with_suffix(".yaml")
PICTURES = NOTEBOOKS / "images" / "index"
MAX_PICTURE, MAX_PICTURES = 12_000, 600_000

problems = []


def problem(where, what):
    problems.append(f"{where}: {what}")


@cache
def notebook(number):
    """Returns the path and the cells of the notebook with that number; 00 is the start."""
    path = next(p for p in sorted(NOTEBOOKS.glob(f"{number}_*.ipynb")) if p.name != INDEX)
    return path, read(path)


def title(number):
    return re.match(r"# (.*)", source(notebook(number)[1][0]))[1].strip()


@cache
def sections(number):
    """Returns the sections of a notebook by their number: the heading, the cell that has it, and the code cells below it."""
    found, current = {"0": ("", 0, [])}, "0"
    for i, cell in enumerate(notebook(number)[1]):
        if cell["cell_type"] == "code":
            found[current][2].append(i)
        else:
            for m in re.finditer(r"^## (?:(\d+) · )?(.+?)\s*$", source(cell), flags=re.MULTILINE):
                current = m[1] or m[2]
                found[current] = (m[2], i, [])
    return found


@cache
def pictures(number):
    """Returns the pictures of a notebook, each with the cell that has it."""
    outputs = [(i, out.get("data", {})) for i, cell in enumerate(notebook(number)[1]) for out in cell.get("outputs", [])]
    return [(i, "".join(data["image/png"])) for i, data in outputs if "image/png" in data]


# Thumbnails

thumbnails = {}  # the file's name: the large picture


def thumbnail(where, number, section, index, alt, to):
    """Returns the text of a small picture of a section, which is a link, and notes that it has to be made."""
    all_ = pictures(number)
    have = [k for k, (i, _) in enumerate(all_) if not section or i in sections(number)[section][2]]
    if index is None:
        return ""
    if index >= len(have):
        problem(where, f"section {section} of {notebook(number)[0].name} has {len(have)} pictures, not {index + 1}")
        return ""
    file = f"{number}-{have[index]:02}.png"
    thumbnails[file] = all_[have[index]][1]
    return f"[![{alt}](images/index/{file})]({to})"


def draw(folder):
    """Makes all thumbnails in a folder."""
    for name, picture in sorted(thumbnails.items()):
        large = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
        small = ImageOps.contain(large, (300, 190), Image.Resampling.LANCZOS)
        for colors in 64, 32, 16, 8:
            file = io.BytesIO()
            small.quantize(palette=palette(large, {}, colors), dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
            if file.tell() <= MAX_PICTURE:
                break
        Path(folder, name).write_bytes(file.getvalue())


# Cards


def table(html):
    """Returns the lines of an HTML table, with cells that span lines in each of them."""
    lines, open_ = [], {}
    for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL):
        line, cells = [], re.findall(r"<t[dh]([^>]*)>(.*?)</t[dh]>", row, re.DOTALL)
        while cells or len(line) in open_:
            at = len(line)
            if at in open_:
                text, left = open_[at]
                open_[at] = (text, left - 1)
                if left == 1:
                    del open_[at]
            else:
                attributes, text = cells.pop(0)
                text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", text)).replace("\u200b", "")).strip()
                span = re.search(r'rowspan="(\d+)"', attributes)
                if span and int(span[1]) > 1:
                    open_[at] = (text, int(span[1]) - 1)
            line.append(text)
        lines.append(line)
    return lines


@cache
def card(number):
    """Returns the claims of a notebook's card: what, source, setting, claimed, here, verdict, and the cell."""
    claims = []
    for cell in notebook(number)[1]:
        for out in cell.get("outputs", []):
            html = "".join(out.get("data", {}).get("text/html", ""))
            if "verdict" not in html:
                continue
            head, *lines = table(html)
            if head[0] not in ("claim", "reproduced number", "tested claim"):
                continue
            for line in lines:
                if len(line) == len(head):
                    claim = dict(zip(head, line))
                    claim["what"], claim["claimed"] = line[0], claim.get("claimed", claim.get("reported", ""))
                    claim["reproduced"] = not re.match(r"[<>]", claim["claimed"]) and claim["claimed"] != ""
                    claim["cell"] = cell.get("id", "")
                    claims.append(claim)
    for before, claim in zip(claims, claims[1:]):  # "… of noise" goes on from the claim above it
        if claim["what"].startswith("… "):
            claim["what"] = re.sub(r": [^:]*$", "", before["what"].split(" / ")[0]) + " / " + claim["what"]
    return claims


# The page


def cell_link(number, cell_id):
    return f"{notebook(number)[0].name}#cell-id={cell_id}"


def clean(text):
    return str(text).replace("|", "\\|").replace("\n", " ").strip()


def here_is_there(where, number, text):
    """Notes a number that the outputs of the notebook do not have."""
    path, cells = notebook(number)
    said = " ".join(re.sub(r"\s+", " ", text.replace("\u200b", "")) for cell in cells if cell["cell_type"] == "code" for text in shown(cell))
    if re.sub(r"\s+", " ", text) in said:
        return
    known = Known([dict(c, source=[]) for c in cells])
    for m in re.finditer(r"(\d+(?:,\d{3})*)(\.\d+)?( %| points)?", text):
        value, digits = float((m[1] + (m[2] or "")).replace(",", "")), len((m[2] or "").lstrip("."))
        if not known.has(value, digits, bool(m[3])):
            problem(where, f"{m[0]!r} is in no output of {path.name}")


def document_row(document, k, row):
    where = f"index.yaml: {document}, row {k + 1}"
    number, _, section = str(row["in"]).partition("#")
    if section not in sections(number):
        problem(where, f"{notebook(number)[0].name} has no section {section}; there are {', '.join(sections(number))}")
        section = "0"
    heading, at, _ = sections(number)[section]
    cells = notebook(number)[1]
    there, here = str(row.get("there", "–")), str(row.get("here", "–"))
    if "card" in row:
        claim = next((c for c in card(number) if c["what"].startswith(row["card"])), None)
        if claim is None:
            problem(where, f"the card of {notebook(number)[0].name} has no {row['card']!r}")
        else:
            there, here = row.get("there", claim["claimed"]), claim["here"]
    if here != "–":
        here_is_there(where, number, here)
    to = cell_link(number, cells[at].get("id", ""))
    small = thumbnail(where, number, section, row.get("picture"), clean(row["what"]), to)
    name = f"{number} {title(number)}" if section == "0" else f"{number}, {section} · {heading}" if section.isdigit() else f"{number}, {heading}"
    return f"| {clean(row['at'])} | {clean(row['what'])} | {clean(there)} | {clean(here)} | [{clean(name)}]({to}) | {small} |"


def document_cells(name, document):
    lines = [f"## {document['title']}", ""]
    if document.get("about"):
        lines += [document["about"], ""]
    lines += ["| where in it | what | there | here | notebook and section | |", "|:--|:--|--:|--:|:--|:--|"]
    lines += [document_row(name, k, row) for k, row in enumerate(document["rows"])]
    return "\n".join(lines)


def papers_cell(papers):
    """Lists every number that a card reports, by paper."""
    rows, others = {}, 0
    for number in numbers():
        for claim in card(number):
            src = claim.get("source", "")
            key = next((p for p in papers if src.startswith(p) or p in src), None)
            if key is None:
                continue
            if not claim["reproduced"]:
                others += 1
                continue
            place = re.sub(r"^[ ,;:]+", "", src.replace(key, "", 1)) if src.startswith(key) else src
            place = re.sub(r"^(?:arXiv )?\d{4}\.\d{5},? ?", "", place)
            what = claim["what"] + (f", {claim['setting']}" if claim.get("setting") else "")
            rows.setdefault(key, []).append(f"| | {clean(place)} | {clean(what)} | {clean(claim['claimed'])} | {clean(claim['here'])} | {clean(claim.get('verdict', ''))} | [{number}]({cell_link(number, claim['cell'])}) |")
    lines = ["## Papers: every number that a card reports", ""]
    lines += [f"The cards also test {others} claims without a number of their own: \"ahead of FedAvg\", \"fewer rounds\".", ""]
    lines += ["| paper | table, figure | what | there | here | verdict | card |", "|:--|:--|:--|--:|--:|:--|:--|"]
    for key, paper in papers.items():
        first = rows.get(key, [])
        if first:
            lines.append(first[0].replace("| |", f"| {paper} |", 1))
            lines += first[1:]
    return "\n".join(lines)


def numbers():
    return [p.name[:2] for p in sorted(NOTEBOOKS.glob("*.ipynb")) if p.name != INDEX]


def finding(number):
    m = re.search(r"\*\*What comes out\*\*\n\n\* (.*)", source(notebook(number)[1][0]))
    return m[1] if m else ""


def gallery_cell(gallery):
    cards = []
    for number in numbers():
        path, _ = notebook(number)
        wanted = str(gallery.get(number, "#0"))
        section, _, index = wanted.partition("#")
        if section and section not in sections(number):
            problem("index.yaml: gallery", f"{path.name} has no section {section}")
            section = ""
        small = thumbnail("index.yaml: gallery", number, section, int(index or 0), title(number), path.name)
        cards.append(f"{small}<br>**[{number} {clean(title(number))}]({path.name})**<br>{clean(finding(number))}")
    lines = ["## Gallery", "", "| | | |", "|:--|:--|:--|"]
    for k in range(0, len(cards), 3):
        lines.append("| " + " | ".join((cards[k : k + 3] + ["", ""])[:3]) + " |")
    return "\n".join(lines)


def make():
    """Returns the index as the text of its file."""
    rows = yaml.safe_load(ROWS.read_text())
    before, after = neighbors(INDEX)
    first = "\n".join(
        [
            "# Index: from a document's figure to a cell",
            "",
            rows["about"].strip(),
            "",
            f"[← {title('00')}]({before}) · [01 {title('01')} →]({after})",
        ]
    )
    texts = [first, gallery_cell(rows["gallery"])]
    texts += [document_cells(name, document) for name, document in rows["documents"].items()]
    texts.append(papers_cell(rows["papers"]))
    for i, text in enumerate(texts):
        for to in links(text):
            if not to.startswith("images/index/") and (why := lost(NOTEBOOKS / INDEX, to)):
                problem(f"index, cell {i}", why)
    cells = [{"cell_type": "markdown", "id": f"index-{i:02}", "metadata": {}, "source": text.splitlines(keepends=True)} for i, text in enumerate(texts)]
    nb = {"cells": cells, "metadata": json.loads((NOTEBOOKS / "00_start.ipynb").read_text())["metadata"], "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(nb, ensure_ascii=False, indent=1) + "\n"


def check():
    """Returns what is not as it would be made."""
    problems.clear()
    thumbnails.clear()
    text = make()
    if text != (NOTEBOOKS / INDEX).read_text():
        problem(INDEX, "is not as it would be made of the notebooks as they are: python scripts/index.py")
    have = {p.name: p.stat().st_size for p in PICTURES.glob("*.png")}
    for name in sorted(thumbnails.keys() ^ have.keys()):
        problem(name, "is missing" if name in thumbnails else "is in no row")
    for name, size in have.items():
        if size > MAX_PICTURE:
            problem(name, f"{size} bytes, more than {MAX_PICTURE}")
    if sum(have.values()) > MAX_PICTURES:
        problem(PICTURES.name, f"{sum(have.values())} bytes, more than {MAX_PICTURES}")
    return list(problems)


def main(arguments):
    if arguments == ["--check"]:
        found = check()
    else:
        text = make()
        PICTURES.mkdir(parents=True, exist_ok=True)
        for path in PICTURES.glob("*.png"):
            path.unlink()
        draw(PICTURES)
        (NOTEBOOKS / INDEX).write_text(text)
        found = list(problems)
        print(f"{len(thumbnails)} thumbnails, {sum(p.stat().st_size for p in PICTURES.glob('*.png')) // 1000} kB")
    print("\n".join(found) or "no problem")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
