"""Tests that set-up says in one line what it cannot help, and that a damaged plugin is found."""

import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import plugin

SETUP = Path(__file__).resolve().parent / "setup.sh"


def setup(commands, path=None):
    """Runs functions of setup.sh; returns the exit status and what was said."""
    env = os.environ | ({"PATH": str(path)} if path else {})
    p = subprocess.run([shutil.which("bash"), "-c", f'set -euo pipefail; . "{SETUP}"; {commands}'], env=env, capture_output=True, text=True)
    return p.returncode, p.stdout + p.stderr


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Messages(Temporary):
    def refused(self, want, commands, path=None):
        status, said = setup(commands, path)
        self.assertEqual((1, 1), (status, said.count("\n")), said)
        self.assertRegex(said, want)

    def test_what_cannot_be_written(self):
        self.refused(r"^fedkit: /dev/null/\.venv cannot be written to \(Not a directory\); setup needs ", "tools=/dev/null/.venv; need_tools")
        self.refused(r"^fedkit: HOME=/dev/null/home cannot be written to \(Not a directory\); set HOME ", "HOME=/dev/null/home; need_home")
        self.assertEqual((0, ""), setup(f'refuses "{self.folder}/new"'))
        self.assertEqual([], list((self.folder / "new").iterdir()))

    def test_what_is_missing(self):
        for name in "dirname", "cat", "awk", "uname":
            (self.folder / name).symlink_to(shutil.which(name))
        self.refused(r"^fedkit: needs Go 1\.\d+\.\d+ or newer \(https://go\.dev/dl\); no 'go' on PATH$", "need_go", self.folder)
        self.refused(r"^fedkit: needs Python 3\.10 or newer with venv; found: none$", "unset PYTHON; need_python", self.folder)
        (self.folder / "go").symlink_to(shutil.which("go"))
        self.refused(r"^fedkit: needs a C compiler and .*; 'gcc' does not compile$", "export CC=gcc; need_cc", self.folder)

    def go(self, version, toolchain="local"):
        """Puts a go of that version on PATH, which notes when it would fetch another one."""
        path = self.folder / "bin" / "go"
        path.parent.mkdir(exist_ok=True)
        fetches = f'[ "$GOTOOLCHAIN" = local ] || [ $PWD = / ] || {{ touch {self.folder}/fetched; echo go9.9.9; exit; }}'
        path.write_text(f'#!/bin/sh\ncase $2 in GOTOOLCHAIN) echo "${{GOTOOLCHAIN:-{toolchain}}}" ;; GOVERSION) {fetches}; echo {version} ;; esac\n')
        path.chmod(0o755)
        return f"{path.parent}:{os.environ['PATH']}"

    def test_old_go(self):
        for version, toolchain in ("go1.19.8", "auto"), ("go1.26.4", "local"):
            path = self.go(version, toolchain)
            self.refused(rf"^fedkit: needs Go 1\.\d+\.\d+ or newer \(https://go\.dev/dl\); found {version}$", "unset GOTOOLCHAIN; need_go", path)
            _, said = setup("doctor", path)
            self.assertRegex(said, rf"(?m)^missing +Go +needs Go 1\.\d+\.\d+ or newer .*; found {version}$")
        self.assertEqual((0, ""), setup("unset GOTOOLCHAIN; need_go", self.go("go1.100.0")))
        self.assertEqual((0, ""), setup("unset GOTOOLCHAIN; need_go", self.go("devel go1.27-a1b2c3")))
        path = self.go("go1.22.1", "auto")
        (self.folder / "fetched").unlink(missing_ok=True)
        setup("doctor", path)
        self.assertFalse((self.folder / "fetched").exists(), "doctor changes nothing")
        status, said = setup("unset GOTOOLCHAIN; need_go; echo $go_version", path)
        self.assertRegex(said, r"^go9\.9\.9\nsetting up: Go 1\.\d+\.\d+, which go1\.22\.1 fetches\n$")
        self.assertTrue(status == 0 and (self.folder / "fetched").exists())

    def test_where_no_program_runs(self):
        (self.folder / "chmod").symlink_to(shutil.which("true"))  # as on a file system mounted noexec
        self.refused(rf"^fedkit: no program can be run in TMPDIR={self.folder} \(Permission denied\), .*noexec", f"TMPDIR={self.folder}; need_tmp", f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual((0, ""), setup(f"TMPDIR={self.folder}; need_tmp"))
        self.assertEqual(["chmod"], os.listdir(self.folder))

    def test_it_advances(self):
        (self.folder / "log").mkdir()
        (self.folder / "log" / "tools").write_text("one\nexample.com/two\n")
        quickly = f"tools={self.folder}; sleep() {{ command sleep 0.05; }}; doing this; doing that; command sleep 1; kill $ticker"
        self.assertRegex(setup(quickly)[1], r"^setting up: this\nsetting up: that\n(  … after \d+ s: tools  example\.com/two\n)+$")

    def test_help_of_tests(self):
        p = subprocess.run([SETUP.with_name("test"), "--help"], capture_output=True, text=True)
        self.assertEqual((0, ""), (p.returncode, p.stderr))
        self.assertRegex(p.stdout, r"^Sets up (?s:.*)  \./scripts/test all (?s:.*)changed since\n$")

    def test_doctor(self):
        for name in "dirname", "cat", "awk", "uname":
            (self.folder / name).symlink_to(shutil.which(name))
        status, said = setup(f"tools={self.folder}/none; HOME={self.folder}; unset FEDKIT_DATA FEDKIT_CACHE XDG_CACHE_HOME; doctor", self.folder)
        self.assertEqual(1, status, said)
        onednn = [r"^missing +oneDNN "] if os.uname()[::4] == ("Linux", "x86_64") else []
        for line in (
            r"^missing +Go +needs Go 1\.", r"^missing +C compiler +Go says which one$", r"^missing +Python with venv +needs Python 3\.10",
            r"^missing +JupyterLab +\./scripts/lab setup installs it$", r"^missing +XLA's CPU plugin ", *onednn, r"^none +GPU +no nvidia-smi", r"^none +MNIST +downloaded",
        ):  # fmt: skip
            self.assertRegex(said, re.compile(line, re.MULTILINE))
        self.assertFalse((self.folder / "none").exists(), "doctor changes nothing")

    def test_causes(self):
        for said, want in (
            ("WARNING: Retrying … Temporary failure in name resolution", "no network"),
            ("dial udp 10.0.0.1:53: connect: network is unreachable", "no network"),
            ("Get https://a.example: proxyconnect tcp: dial tcp: connection refused", "no network"),
            ("write /x/b001: no space left on device", "no space left"),
            ("OSError: [Errno 28] No space left on device", "no space left"),
        ):
            (self.folder / "log").mkdir(exist_ok=True)
            (self.folder / "log" / "step").write_text(f"one\n{said}\nthree\n")
            self.refused(rf"^fedkit: setup failed: step: {want}.*; {self.folder}/log/step has all of it$", f'tools="{self.folder}"; failed step')
        (self.folder / "log" / "step").write_text("syntax error\n")
        self.assertEqual((1, "syntax error\nfedkit: setup failed: step\n"), setup(f'tools="{self.folder}"; failed step'))


class Build(Temporary):
    def refused(self, want, *args):
        p = subprocess.run([SETUP.with_name("study"), "--build", *args], capture_output=True, text=True)
        self.assertEqual((1, "", f"fedkit: --build {want}\n"), (p.returncode, p.stdout, p.stderr))

    def test_what_is_in_its_place_stays(self):
        for args in (), ("",), ("a", "b"):
            self.refused("needs one folder to write: ./scripts/study --build DIR", *args)
        file = self.folder / "runs of mine"
        file.touch()
        self.refused(f"{file}: it is not a folder", file)
        (self.folder / "fedkit").touch()
        self.refused(f"{self.folder}: the folder has other files, such as {file.name}; choose a new one, or one that --build has written", self.folder)
        self.assertEqual(["fedkit", file.name], sorted(p.name for p in self.folder.iterdir()))


class Plugin(Temporary):
    def setUp(self):
        super().setUp()
        self.file, self.stamp = self.folder / "plugin.so", self.folder / "stamp"
        start = bytearray(64)
        start[:6] = b"\x7fELF\x02\x01"
        struct.pack_into("<Q", start, 0x28, 936)
        struct.pack_into("<HH", start, 0x3A, 64, 1)
        self.whole = bytes(start) + bytes(936)
        self.file.write_bytes(self.whole)

    def check(self, stamp=None):
        return plugin.check(str(self.file), str(stamp or self.stamp))

    def test_damage_is_found(self):
        plugin.record(str(self.file), str(self.stamp))
        self.assertEqual("", self.check())
        with mock.patch.object(plugin, "sha256", side_effect=AssertionError("read again")):
            self.assertEqual("", self.check())
        self.file.write_bytes(self.whole[:-1] + b"x")
        self.assertRegex(self.check(), r"^it is damaged: its SHA-256 is \w{12}…, and was \w{12}… when it was installed$")
        self.assertNotEqual("", self.check(self.folder / "another checkout's stamp"))
        self.file.write_bytes(self.whole[:-1])
        self.assertEqual("it was cut off, at 999 bytes", self.check())
        self.file.write_bytes(b"")
        self.assertEqual("it was cut off, at 0 bytes", self.check())
        self.file.unlink()
        self.assertEqual("it is missing", self.check())

    def test_libraries_of_wheels(self):
        wheel, to = self.folder / "a.whl", self.folder / "library.so"
        with zipfile.ZipFile(wheel, "w") as z:
            z.writestr("of/library.so", self.whole)
        self.assertRegex(plugin.unpack(str(wheel), "0" * 64, "of/library.so", str(to)), r"^a\.whl has SHA-256 \w{64}, expected 0{64}: nothing installed$")
        self.assertFalse(to.exists())
        self.assertEqual("", plugin.unpack(str(wheel), plugin.sha256(wheel), "of/library.so", str(to)))
        self.assertEqual((self.whole, 0o755), (to.read_bytes(), to.stat().st_mode & 0o777))
        self.assertEqual(["a.whl", "library.so", "plugin.so"], sorted(p.name for p in self.folder.iterdir()))

    def test_what_others_installed_counts(self):
        self.assertEqual("", plugin.main("see", str(self.file), str(self.stamp)))
        self.assertEqual(["plugin.so"], os.listdir(self.folder))
        self.assertEqual("", self.check())  # by a checkout that records nothing
        self.assertEqual("", self.check(self.folder / "another checkout's stamp"))
        self.file.write_bytes(b"other")
        with mock.patch.object(plugin, "KNOWN", {hashlib.sha256(b"other").hexdigest()}):
            self.assertEqual("", self.check())
        (self.folder / "plugin.so.sha256").unlink()
        self.stamp.unlink()
        self.file.write_bytes(self.whole[:-1])
        self.assertEqual("it was cut off, at 999 bytes", self.check())


if __name__ == "__main__":
    unittest.main()
