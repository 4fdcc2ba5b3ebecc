"""A platform wheel from the pure one: the same files, and beside them kernels that are compiled already.

    python release/platform_wheel.py dist/hedgerow-0.1.0-py3-none-any.whl

The kernels are those of `hedgerow warm-up --model all`, compiled for the processors that `jit.BASELINES` states, by the
Python, numba and llvmlite that run this. For others, and for kernels that are not there, hedgerow compiles as it does
from the pure wheel. The wheel is written beside the pure one, after a warm-up with it alone found nothing to compile.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

WARM_UP = "from hedgerow.cli.warm_up import warm_up; print(len(warm_up(['all'], quiet=True)), 'kernels compiled')"
TARGET = """
import llvmlite.binding
from hedgerow import jit
print(*jit.baseline(llvmlite.binding.get_process_triple()) or ())
"""


def python(code: str, site: Path, **settings: str) -> str:
    """What a process says that has the package from a folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON"))}
    environment = own | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | settings
    code = f"import hedgerow\nassert hedgerow.__path__[0].startswith({str(site)!r}), hedgerow.__path__\n{code}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=site, check=True, text=True, stdout=subprocess.PIPE).stdout


def compile_into(site: Path, scratch: Path) -> None:
    """Compile the kernels of the package in a folder, and put them where it looks for them."""
    target = python(TARGET, site).split()
    if not target:
        raise SystemExit("jit.BASELINES states nothing for this machine, or this processor is below it.")
    settings = {"NUMBA_CPU_NAME": target[0], "NUMBA_CPU_FEATURES": target[1], "NUMBA_DISABLE_INTEL_SVML": "1"}
    print(python(WARM_UP, site, NUMBA_CACHE_DIR=str(scratch / "compiled"), **settings).strip())
    shipped = site / "hedgerow" / "compiled"
    shipped.mkdir()
    for path in sorted((scratch / "compiled").rglob("*.nbc")):
        path.rename(shipped / path.name)
    said = python(WARM_UP, site, NUMBA_CACHE_DIR=str(scratch / "none")).strip()
    if said != "0 kernels compiled":
        raise SystemExit(f"With the shipped kernels alone: {said}.")


def tag() -> str:
    """Of this Python and platform. Nothing is linked against a library, so any glibc does that numba can have."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{version}-{version}-{re.sub('^linux_', 'manylinux_2_17_', platform)}"


def pack(site: Path, folder: Path, tag: str) -> Path:
    """Write the wheel of an unpacked one with more files in it, for a tag."""
    (info,) = site.glob("*.dist-info")
    text = (info / "WHEEL").read_text(encoding="utf-8")
    text = re.sub(r"^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", text, flags=re.MULTILINE)
    (info / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: {tag}", text, flags=re.MULTILINE), encoding="utf-8")
    record = info / "RECORD"
    record.unlink()
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    wheel = folder / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in site.rglob("*") if path.is_file()):
            name, data = path.relative_to(site).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            writer.writerow((name, f"sha256={digest}", len(data)))
            packed.write(path, name)
        writer.writerow((record.relative_to(site).as_posix(), "", ""))
        packed.writestr(record.relative_to(site).as_posix(), rows.getvalue())
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the pure one")
    pure = parser.parse_args().wheel.resolve()
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve() / "site"
        with zipfile.ZipFile(pure) as packed:
            packed.extractall(site)
        compile_into(site, Path(folder).resolve())
        wheel = pack(site, pure.parent, tag())
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; the pure one {pure.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
