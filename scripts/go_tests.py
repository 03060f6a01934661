"""Prints what `go test` prints, from its JSON: a line for each package, and what failed tests have said. Then the slowest packages and
tests and, with --left-out, the tests that skipped themselves.

    go test -json -short ./... | python scripts/go_tests.py --left-out './scripts/test all'
"""

import argparse
import json
import sys
from collections import defaultdict

SLOWEST = 8
VERDICTS = "ok  ", "?   ", "FAIL", "panic:", "testing:"


def read(lines, left_out=None, show=print):
    said = defaultdict(list)  # what a test, or the package outside of tests, has said
    took, skipped = {"packages": [], "tests": []}, defaultdict(list)
    for line in lines:
        try:
            event = json.loads(line)
            action = event["Action"]
        except (ValueError, KeyError, TypeError):
            show(line, end="")  # of go, not of a test
            continue
        name, test, text = event.get("Package", "").removeprefix("fedkit.example/"), event.get("Test"), event.get("Output", "")
        if action == "build-output" or action == "output" and test is None and text.startswith(VERDICTS):
            show(text, end="")
        elif action == "output":
            said[name, test].append(text)
        if action in ("pass", "skip", "fail"):
            text = "".join(said.pop((name, test), []))
            if action == "fail":
                show(text, end="")
            elif action == "skip" and test:
                skipped[name].append(test)
            if "/" not in (test or ""):
                took["tests" if test else "packages"].append((event.get("Elapsed", 0), f"{name} {test or ''}".strip()))
    for what, all in took.items():
        slow = [f"{seconds:.0f} s {name}" for seconds, name in sorted(all, reverse=True)[:SLOWEST] if seconds >= 1]
        if slow:
            show(f"slowest {what}: {', '.join(slow)}")
    if left_out and skipped:
        lists = "; ".join(f"{name}: {', '.join(sorted(tests))}" for name, tests in sorted(skipped.items()))
        show(f"left for {left_out}, or for where data sets are: {sum(map(len, skipped.values()))} tests. {lists}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--left-out", metavar="COMMAND", help="what runs the tests that skipped themselves")
    read(sys.stdin, parser.parse_args().left_out, lambda *a, **k: print(*a, **k, flush=True))
