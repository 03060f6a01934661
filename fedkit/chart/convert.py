"""Draws fedkit's Vega-Lite specifications without a browser, by vl-convert (pip install vl-convert-python)."""

import json
import re
import sys

SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"


def power(match):
    return (match[1] or "1") + "e" + match[2].translate(str.maketrans(SUPERSCRIPTS, "−0123456789"))


def draw(spec, form):
    """Returns the specification as a file on white, "svg" or, with two pixels for each CSS pixel, "png". That has the font which
    vl-convert brings along, and so looks the same on every machine. It has few superscripts: 10⁻⁶ is written as 1e−6."""
    import vl_convert

    words = json.dumps(spec, ensure_ascii=False).replace('"currentColor"', '"#333333"')  # the page's color, in a browser
    if form == "png":
        words = re.sub(rf"(?:(\d[.\d]*)×)?10([{SUPERSCRIPTS}]+)", power, words)
    spec = json.loads(words)
    spec["config"]["background"] = "white"
    if form == "svg":
        return vl_convert.vegalite_to_svg(spec, vl_version="5.21").encode()
    spec["config"]["font"] = "Liberation Sans"
    return vl_convert.vegalite_to_png(spec, vl_version="5.21", scale=2)


if __name__ == "__main__":
    sys.stdout.buffer.write(draw(json.load(sys.stdin), sys.argv[1]))
