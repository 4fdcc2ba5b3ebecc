"""Clean drawings to put noise on."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from scipy.io import savemat

from hedgerow.errors import InputError
from reproduction.datasets import load_denoise

SMALL = np.eye(4, dtype=np.uint8)


def drawing(seed):
    return (np.random.default_rng(seed).random((150, 150)) < 0.3).astype(np.uint8)


def written(folder, *drawings, small=SMALL):
    """The two files, the second with as much of HDF5 as is read: a node of chunks before each chunk."""
    savemat(folder / "X.mat", {"X": small})
    contents = b"\x89HDF\r\n\x1a\n" + struct.pack("<4sBBHQQ", b"TREE", 0, 0, 1, 0, 0) + bytes(40)
    for own in drawings:
        chunk = zlib.compress(own.T.tobytes())
        node = struct.pack("<4sBBHQQ", b"TREE", 1, 0, 1, 2**64 - 1, 2**64 - 1)
        entry = struct.pack("<IIQQQQ", len(chunk), 0, 0, 0, 0, len(contents) + len(node) + 40)
        contents += node + entry + chunk
    (folder / "binaryImages.mat").write_bytes(bytes(512) + contents)
    return folder


def test_files(tmp_path):
    images = load_denoise(written(tmp_path, drawing(0), drawing(1)))
    assert [image.shape for image in images] == [(4, 4), (150, 150), (150, 150)]
    assert (images[0] == SMALL).all()
    assert (images[1] == drawing(0)).all()
    assert (images[2] == drawing(1)).all()
    assert images[1].dtype == np.int64


@pytest.mark.parametrize("contents", [b"", b"no images", bytes(512) + b"\x89HDF\r\n\x1a\nTREE\x01\x00\x01\x00"])
def test_another_file(contents, tmp_path):
    written(tmp_path)
    (tmp_path / "binaryImages.mat").write_bytes(contents)
    with pytest.raises(InputError) as caught:
        load_denoise(tmp_path)
    assert caught.value.path.endswith("binaryImages.mat")


def test_a_small_image_that_is_none(tmp_path):
    with pytest.raises(InputError, match="not one of 0 and 1"):
        load_denoise(written(tmp_path, drawing(0), small=7 * SMALL))
    (tmp_path / "X.mat").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is not the small image"):
        load_denoise(tmp_path)


@pytest.mark.data
def test_the_real_data(data_folder):
    images = load_denoise()
    assert [image.shape for image in images] == [(32, 32), *[(150, 150)] * 7]
    assert [round(float(image.mean()), 3) for image in images[:3]] == [0.751, 0.489, 0.878]
