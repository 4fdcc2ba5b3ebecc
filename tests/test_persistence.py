"""Model files: what is written comes back, and no damage whatever gets through."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import socket
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hedgerow import persistence
from hedgerow.errors import InputError, ModelFileError
from hedgerow.persistence import read, write

DTYPES = [np.dtype(code) for code in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")]
DIGITS = persistence._DIGITS.start  # where the checksum stands

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
headers = st.dictionaries(st.text(), json_values, max_size=4).map(lambda header: header | {"kind": "test"})
names = st.text(min_size=1).filter(lambda name: name != "__metadata__")
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)


def model() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A small file's worth of contents with a tensor of every type."""
    rng = np.random.default_rng(0)
    tensors = {dtype.name: rng.integers(0, 2, size=(3, 7)).astype(dtype) for dtype in DTYPES}
    tensors["text"] = np.frombuffer("naïve語".encode(), dtype=np.uint8)
    return {"kind": "LinearCRF", "params": {"l2": 0.5, "window": [2, 3]}, "labels": ["a", "b"]}, tensors


def assert_same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        assert array.shape == right[name].shape
        assert array.tobytes() == right[name].tobytes()


def reseal(data: bytes) -> bytes:
    """The same file with a checksum that is right: what an attacker, not an accident, would write."""
    blank = data[:DIGITS] + b"0" * 64 + data[DIGITS + 64 :]
    return data[:DIGITS] + hashlib.sha256(blank).hexdigest().encode() + data[DIGITS + 64 :]


def forge(table: dict[str, Any], data: bytes = b"", header: str = '{"kind": "x"}', **others: Any) -> bytes:
    """A well-sealed file with any table of tensors."""
    fields = {"sha256": "0" * 64, "format_version": persistence.FORMAT_VERSION, "hedgerow_version": "0"} | others
    metadata = json.dumps(fields, separators=(",", ":"))[:-1] + f',"header":{header}}}'
    text = json.dumps({"__metadata__": {"hedgerow": metadata}} | table, separators=(",", ":")).encode()
    return reseal(len(text).to_bytes(8, "little") + text + data)


# ------------------------------------------------------------------------------------------------ round trips


@given(header=headers, tensors=st.dictionaries(names, arrays, max_size=5))
def test_what_is_written_comes_back(tmp_path_factory, header, tensors):
    path = tmp_path_factory.mktemp("round") / "model.hedgerow"
    write(path, header, tensors)
    header_again, tensors_again = read(path)
    assert header_again == header
    assert_same(tensors_again, tensors)


def test_layouts_are_normalised(tmp_path):
    path = str(tmp_path / "model.hedgerow")  # a str is as good as a Path
    grid = np.arange(12.0).reshape(3, 4)
    tensors = {"turned": grid.T, "strided": grid[:, ::2], "swapped": grid.astype(">f8"), "scalar": np.float64(3)}
    write(path, {"kind": "x"}, tensors)
    _, again = read(path)
    assert again["scalar"].shape == ()
    for name, array in tensors.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == np.dtype("=f8")
        assert again[name].flags.c_contiguous
        assert again[name].flags.writeable
        assert again[name].flags.aligned


def test_the_same_contents_give_the_same_bytes(tmp_path):
    header, tensors = model()
    write(tmp_path / "a", header, tensors)
    write(tmp_path / "b", header, dict(reversed(tensors.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_safetensors_library_opens_the_file(tmp_path):
    header, tensors = model()
    path = tmp_path / "model.hedgerow"
    write(path, header, tensors)
    assert_same(safetensors.numpy.load_file(path), tensors)
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
    assert json.loads(metadata["hedgerow"])["header"] == header
    assert json.loads(metadata["hedgerow"])["format_version"] == persistence.FORMAT_VERSION


# ----------------------------------------------------------------------------------------------------- damage


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """One random accident. A third of them fall on the first bytes, where the sizes and the header are."""
    reach = len(data) if rng.random() < 0.67 else min(len(data), 400)
    begin, end = sorted(int(place) for place in rng.integers(0, reach, size=2))
    noise = rng.bytes(int(rng.integers(1, 17)))
    match rng.integers(6):
        case 0:
            return data[:begin] + bytes([data[begin] ^ (1 << int(rng.integers(8)))]) + data[begin + 1 :]
        case 1:
            return data[:begin]
        case 2:
            return data[:begin] + noise + data[begin:]
        case 3:
            return data[:begin] + data[end:]
        case 4:
            return data[:begin] + bytes(end - begin) + data[end:]
        case _:
            return data[:begin] + noise + data[begin + len(noise) :]


def assert_refused(path: Path, data: bytes, match: str | None = None) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_every_single_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "model.hedgerow"
    write(path, {"kind": "x"}, {"w": np.arange(4.0)})
    data = path.read_bytes()
    for i in range(8 * len(data)):
        assert_refused(path, data[: i // 8] + bytes([data[i // 8] ^ (1 << i % 8)]) + data[i // 8 + 1 :])


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "model.hedgerow"
    write(path, *model())
    data = path.read_bytes()
    for length in range(len(data)):
        assert_refused(path, data[:length])


def test_thousands_of_random_accidents_are_noticed(tmp_path, rng):
    path = tmp_path / "model.hedgerow"
    write(path, *model())
    data = path.read_bytes()
    refused = 0
    while refused < 5000:
        damaged = damage(data, rng)
        if damaged != data:
            assert_refused(path, damaged)
            refused += 1


def test_two_good_files_spliced_are_noticed(tmp_path, rng):
    header, tensors = model()
    write(tmp_path / "a", header, tensors)
    write(tmp_path / "b", header, {name: 1 - array for name, array in tensors.items() if array.dtype != bool})
    one, other = (tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()
    for cut in rng.integers(1, min(len(one), len(other)), size=500):
        spliced = one[:cut] + other[cut:]
        if spliced not in (one, other):
            assert_refused(tmp_path / "c", spliced)


def test_sealed_accidents_raise_nothing_else(tmp_path, rng):
    """With the checksum made right only the other checks stand. Wrong numbers may pass; nothing may crash."""
    path = tmp_path / "model.hedgerow"
    write(path, *model())
    data = path.read_bytes()
    outcomes = {"read": 0, "refused": 0}
    for _ in range(3000):
        path.write_bytes(reseal(damage(data, rng)))
        try:
            read(path)
            outcomes["read"] += 1
        except ModelFileError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100


SMALL = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    ("table", "data"),
    [
        ({"w": SMALL}, bytes(8)),
        ({"w": SMALL}, bytes(24)),
        ({"w": SMALL, "v": SMALL}, bytes(16)),
        ({"w": SMALL | {"data_offsets": [8, 24]}}, bytes(24)),
        ({"w": SMALL | {"data_offsets": [16, 0]}}, bytes(16)),
        ({"w": SMALL | {"data_offsets": [-16, 0]}}, b""),
        ({"w": SMALL | {"data_offsets": [0, 16, 16]}}, bytes(16)),
        ({"w": SMALL | {"data_offsets": [0.0, 16.0]}}, bytes(16)),
        ({"w": SMALL | {"shape": [3]}}, bytes(16)),
        ({"w": SMALL | {"shape": [-2]}}, bytes(16)),
        ({"w": SMALL | {"shape": [-1, -2]}}, bytes(16)),
        ({"w": SMALL | {"shape": [2.0]}}, bytes(16)),
        ({"w": SMALL | {"shape": [True, 2]}}, bytes(16)),
        ({"w": SMALL | {"shape": 2}}, bytes(16)),
        ({"w": SMALL | {"shape": [2**61, 2**61, 8]}}, bytes(16)),  # the product is 0 in 64 bits
        ({"w": SMALL | {"shape": [2**64 + 2]}}, bytes(16)),
        ({"w": {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}}, b""),
        ({"w": {"dtype": "F64", "shape": [0, 2**40, 2**40], "data_offsets": [0, 0]}}, b""),
        ({"w": {"dtype": "F64", "shape": [1] * 70, "data_offsets": [0, 8]}}, bytes(8)),
        ({"w": {"dtype": "O", "shape": [2], "data_offsets": [0, 16]}}, bytes(16)),
        ({"w": {"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]}}, bytes(16)),
        ({"w": {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}}, bytes(16)),
        ({"w": {"dtype": "F16", "shape": [8], "data_offsets": [0, 16]}}, bytes(16)),
        ({"w": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\x01\x02"),
        ({"w": {"dtype": "F64"}}, b""),
        ({"w": None}, b""),
        ({"w": []}, b""),
    ],
)
def test_sealed_nonsense_is_refused(tmp_path, table, data):
    assert_refused(tmp_path / "model.hedgerow", forge(table, data), "is damaged|is cut short")


def test_a_foreign_size_is_refused_before_the_file_is_read(tmp_path):
    path = tmp_path / "model.hedgerow"
    long = (50_000_000).to_bytes(8, "little") + forge({"w": SMALL}, bytes(16))[8:]
    assert_refused(path, reseal(long), "its header should take 50000000 bytes")


def test_a_forged_file_is_read_when_it_is_right(tmp_path):
    path = tmp_path / "model.hedgerow"
    path.write_bytes(forge({"w": SMALL}, bytes(16)))
    header, tensors = read(path)
    assert header == {"kind": "x"}
    np.testing.assert_array_equal(tensors["w"], [0.0, 0.0])


@pytest.mark.parametrize("header", ["", "[]", "{}", '{"kind": 3}', "[" * 100_000, '{"kind": "x", "kind": "y"}'])
def test_a_sealed_header_that_is_not_one_is_refused(tmp_path, header):
    assert_refused(tmp_path / "model.hedgerow", forge({}, header=header), "its header cannot be read")


def test_a_name_that_stands_twice_is_refused(tmp_path):
    data = forge({"w": SMALL, "v": SMALL | {"data_offsets": [16, 32]}}, bytes(32))
    assert_refused(tmp_path / "model.hedgerow", reseal(data.replace(b'"v":', b'"w":')), "is damaged")


@pytest.mark.parametrize("length", [0, 10, 2**31, 2**63, 2**64 - 1])
def test_a_header_length_that_lies_is_refused(tmp_path, length):
    data = forge({"w": SMALL}, bytes(16))
    assert_refused(tmp_path / "model.hedgerow", reseal(length.to_bytes(8, "little") + data[8:]), "is damaged")


def test_a_newer_format_says_so(tmp_path):
    path = tmp_path / "model.hedgerow"
    newer = forge({}, header="null", format_version=persistence.FORMAT_VERSION + 1, hedgerow_version="9.1")
    assert_refused(path, newer, r"written by hedgerow 9\.1.*Upgrade")
    assert_refused(path, forge({}, format_version=1), "format 1.*train the model again")
    for version in (0, -1, "1", 1.5, True, None):
        assert_refused(path, forge({}, format_version=version), "its header cannot be read")


def test_another_layout_of_the_library_is_noticed_before_a_file_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(safetensors.numpy, "save", lambda *_: bytes(8) + b'{"w":{}}' + bytes(100))
    with pytest.raises(RuntimeError, match="safetensors"):
        write(tmp_path / "model.hedgerow", {"kind": "x"}, {})
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------------------------------------- foreign files


def test_foreign_files_are_named(tmp_path):
    path = tmp_path / "model.hedgerow"
    assert_refused(path, b"", "is empty")
    assert_refused(path, pickle.dumps({"a": 1}), "pickle")
    assert_refused(path, b"lCRF" + bytes(100), "CRFsuite")
    assert_refused(path, b"word POS label\nthe DT B-NP\n", "text file")
    assert_refused(path, "naïve été\n".encode(), "text file")
    assert_refused(path, b'{"kind": "LinearCRF"}', "text file")
    assert_refused(path, bytes(100), "is not a hedgerow model$")
    safetensors.numpy.save_file({"w": np.arange(4.0)}, path, metadata={"format": "np"})
    assert_refused(path, path.read_bytes(), "a safetensors file that hedgerow did not write")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"x")
    assert_refused(path, path.read_bytes(), "zip archive")


def test_a_pickle_is_not_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    assert_refused(tmp_path / "model.hedgerow", pickle.dumps(Bomb()), "pickle")
    assert not (tmp_path / "exploded").exists()


def test_a_crfsuite_model_is_named(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.train(str(tmp_path / "model.crfsuite"))
    with pytest.raises(ModelFileError, match="CRFsuite"):
        read(tmp_path / "model.crfsuite")


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(ModelFileError, match="not a regular file"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")


# ---------------------------------------------------------------------------------------------------- writing


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.hedgerow"
    write(path, *model())
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for step, failure, error in (("fsync", fail, OSError), ("replace", fail, OSError), ("replace", interrupt, None)):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, failure)
            with pytest.raises(error or KeyboardInterrupt):
                write(path, {"kind": "new"}, {})
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.hedgerow"]


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.hedgerow"
    write(path, *model())
    before = path.read_bytes()
    code = (
        "import os, sys; from hedgerow.persistence import write; os.replace = lambda *_: os._exit(9);"
        "write(sys.argv[1], {'kind': 'new'}, {'w': [0.0] * 100_000})"
    )
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 9
    assert path.read_bytes() == before


def test_the_file_is_synced_before_it_gets_its_name(tmp_path, monkeypatch):
    steps: list[str] = []
    for step in ("fsync", "replace"):
        real = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, real=real, step=step: (steps.append(step), real(*a)))
    write(tmp_path / "model.hedgerow", {"kind": "x"}, {})
    assert steps == ["fsync", "replace", "fsync"]


def test_permissions_follow_the_umask(tmp_path):
    for umask in (0o022, 0o027, 0o077):
        old = os.umask(umask)
        try:
            write(tmp_path / f"{umask}", {"kind": "x"}, {})
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / f"{umask}").stat().st_mode) == 0o666 & ~umask


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "store").mkdir()
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "store" / "model.hedgerow")
    write(link, {"kind": "x"}, {})
    assert link.is_symlink()
    assert read(tmp_path / "store" / "model.hedgerow")[0] == {"kind": "x"}


def test_a_place_that_cannot_be_written_to(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-folder"):
        write(tmp_path / "no-such-folder" / "model", {"kind": "x"}, {})
    with pytest.raises(IsADirectoryError) as caught:
        write(tmp_path, {"kind": "x"}, {})
    assert (caught.value.filename, caught.value.filename2) == (os.path.realpath(tmp_path), None)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("header", "tensors", "match"),
    [
        ({}, {}, "'kind'"),
        ({"kind": 3}, {}, "'kind'"),
        ({"kind": "x", "bad": float("nan")}, {}, "JSON"),
        ({"kind": "x", "bad": {1, 2}}, {}, "JSON"),
        ({"kind": "x"}, {"": np.zeros(1)}, "name"),
        ({"kind": "x"}, {"__metadata__": np.zeros(1)}, "name"),
        ({"kind": "x"}, {"w": np.array(["a"], dtype=object)}, "object"),
        ({"kind": "x"}, {"w": np.array(["a"])}, "UTF-8"),
        ({"kind": "x"}, {"w": np.zeros(1, dtype=complex)}, "complex"),
        ({"kind": "x", "long": "x" * 100_000_000}, {}, "too large"),
    ],
)
def test_contents_that_cannot_be_written(tmp_path, header, tensors, match):
    with pytest.raises(InputError, match=match):
        write(tmp_path / "model.hedgerow", header, tensors)
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------------------------------------------- what is replaced


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "model.hedgerow"
    for mode in (0o600, 0o664, 0o444):
        path.touch()
        path.chmod(mode)
        write(path, {"kind": "x"}, {})
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()


def test_a_device_is_written_to_and_stays(tmp_path):
    before = os.stat(os.devnull)
    write(os.devnull, *model())
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write(link, *model())
    assert os.listdir(tmp_path) == ["link"]
    assert stat.S_ISCHR(os.stat(link).st_mode)


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    write(pipe, *model())
    write(tmp_path / "file", *model())
    assert reader.communicate()[0] == (tmp_path / "file").read_bytes()
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_an_open_file_is_written_to(tmp_path):
    write(tmp_path / "file", *model())
    with open(tmp_path / "open", "w+b") as file:
        write(file, *model())
        assert not file.closed
    assert (tmp_path / "open").read_bytes() == (tmp_path / "file").read_bytes()


def test_what_is_neither_file_nor_pipe_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="is not a regular file"):
            write(tmp_path / "socket", {"kind": "x"}, {})
        for through in (True, False):
            with pytest.raises(InputError, match="is not a regular file"):
                persistence.check_target(tmp_path / "socket", through=through)
    assert os.listdir(tmp_path) == ["socket"]


def test_what_a_killed_process_left_has_a_name_and_is_removed_by_the_next_save(tmp_path):
    path, other = tmp_path / "model.hedgerow", tmp_path / "model.hedgerow.2"
    code = (
        "import os, sys; from hedgerow.persistence import write; os.replace = lambda *_: os.kill(os.getpid(), 9);"
        "write(sys.argv[1], {'kind': 'new'}, {})"
    )
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".model.hedgerow.hedgerow-unfinished-")
    write(other, {"kind": "x"}, {})
    assert left in os.listdir(tmp_path), "it belongs to another file"
    write(path, {"kind": "x"}, {})
    assert sorted(os.listdir(tmp_path)) == ["model.hedgerow", "model.hedgerow.2"]


def test_what_another_process_still_writes_stays(tmp_path):
    path = tmp_path / "model.hedgerow"
    code = (
        "import os, sys, time; from hedgerow.persistence import write; real = os.replace\n"
        "os.replace = lambda *given: (print('now', flush=True), sys.stdin.readline(), real(*given))\n"
        "write(sys.argv[1], {'kind': 'theirs'}, {})"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as theirs:
        assert theirs.stdout.readline() == "now\n"
        write(path, {"kind": "ours"}, {})
        assert len(os.listdir(tmp_path)) == 2
        theirs.communicate("go on\n")
    assert theirs.returncode == 0
    assert os.listdir(tmp_path) == ["model.hedgerow"]
    assert read(path)[0] == {"kind": "theirs"}
