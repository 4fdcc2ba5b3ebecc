"""release/platform_wheel.py, without the minutes that it compiles."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import runpy
import subprocess
import sys
import zipfile

import pytest

from .sources import ROOT

SCRIPT = ROOT / "release" / "platform_wheel.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the script is not installed with hedgerow")

WHEEL = "Wheel-Version: 1.0\nGenerator: hatchling 1.27.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
METADATA = "Metadata-Version: 2.1\nName: made\nVersion: 1.0\n"


@pytest.fixture
def script():
    return runpy.run_path(str(SCRIPT))


def test_a_wheel_with_more_files(script, tmp_path):
    site = tmp_path / "site"
    (site / "made-1.0.dist-info").mkdir(parents=True)
    (site / "made" / "compiled").mkdir(parents=True)
    (site / "made" / "__init__.py").write_text("x = 1\n")
    (site / "made" / "compiled" / "kernel.nbc").write_bytes(b"\x00\x01")
    for name, text in {"WHEEL": WHEEL, "METADATA": METADATA, "RECORD": "made/__init__.py,,\n"}.items():
        (site / "made-1.0.dist-info" / name).write_text(text)
    wheel = script["pack"](site, tmp_path, script["tag"]())
    assert re.fullmatch(r"made-1\.0-cp3\d+-cp3\d+-\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as packed:
        about = packed.read("made-1.0.dist-info/WHEEL").decode()
        assert "Root-Is-Purelib: false\n" in about
        assert f"Tag: {script['tag']()}\n" in about
        rows = list(csv.reader(packed.read("made-1.0.dist-info/RECORD").decode().splitlines()))
        assert {name for name, _, _ in rows} == set(packed.namelist())
        for name, digest, size in rows:
            if name != "made-1.0.dist-info/RECORD":
                data = packed.read(name)
                kind, _, found = digest.partition("=")
                assert base64.urlsafe_b64decode(found + "=") == hashlib.new(kind, data).digest()
                assert int(size) == len(data)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(tmp_path / "installed"), str(wheel)], check=True)
    assert (tmp_path / "installed" / "made" / "compiled" / "kernel.nbc").read_bytes() == b"\x00\x01"


def test_the_package_comes_from_the_folder(script, tmp_path):
    """And not from where hedgerow is installed, so that what is compiled is what is shipped."""
    with pytest.raises(subprocess.CalledProcessError):
        script["python"]("", tmp_path)
    (tmp_path / "hedgerow").mkdir()
    (tmp_path / "hedgerow" / "__init__.py").write_text("")
    assert script["python"]("print(1)", tmp_path) == "1\n"
