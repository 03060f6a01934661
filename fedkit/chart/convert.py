"""Draws fedkit's Vega-Lite specifications without a browser, by vl-convert (pip install vl-convert-python)."""

import json
import sys


def draw(spec, form, scale=2):
    """Returns the specification as a PNG or an SVG file on white. Text has the page's color in a browser, and here its own."""
    import vl_convert

    spec = json.loads(json.dumps(spec).replace('"currentColor"', '"#333333"'))
    spec["config"]["background"] = "white"
    if form == "svg":
        return vl_convert.vegalite_to_svg(spec, vl_version="5.21").encode()
    return vl_convert.vegalite_to_png(spec, vl_version="5.21", scale=scale)


if __name__ == "__main__":
    sys.stdout.buffer.write(draw(json.load(sys.stdin), sys.argv[1]))
