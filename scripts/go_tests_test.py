"""What go_tests.py prints."""

import json
import unittest

import go_tests


class GoTests(unittest.TestCase):
    def said(self, *events, left_out=None):
        lines = []
        go_tests.read([e if isinstance(e, str) else json.dumps(e) for e in events], left_out, lambda text, end="\n": lines.append(text + end))
        return "".join(lines)

    def test_what_is_printed(self):
        event = lambda action, test=None, **more: {"Action": action, "Package": "fedkit.example/p", **({"Test": test} if test else {}), **more}
        said = self.said(
            "go: downloading x\n",
            event("build-output", Output="p.go:1: wrong\n"),
            event("output", "TestA", Output="fine\n"), event("pass", "TestA", Elapsed=2.4),
            event("output", "TestB/x", Output="p_test.go:3: 1, want 2\n"), event("fail", "TestB/x", Elapsed=9), event("fail", "TestB", Elapsed=0.1),
            event("output", "TestC", Output="long\n"), event("skip", "TestC", Elapsed=0),
            event("output", Output="FAIL\tfedkit.example/p\t12s\n"), event("fail", Elapsed=12.2),
            left_out="all",
        )  # fmt: skip
        self.assertEqual(said, """go: downloading x
p.go:1: wrong
p_test.go:3: 1, want 2
FAIL\tfedkit.example/p\t12s
slowest packages: 12 s p
slowest tests: 2 s p TestA
left for all, or for where data sets are: 1 tests. p: TestC
""")


if __name__ == "__main__":
    unittest.main()
