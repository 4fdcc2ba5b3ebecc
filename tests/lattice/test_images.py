"""Image files to arrays and back, and files that are no images."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.lattice import read_folders, read_image, read_mask, write_mask
from hedgerow.lattice.images import find_images

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def save(path, pixels, mode=None):
    path.parent.mkdir(exist_ok=True)
    image = Image.fromarray(np.asarray(pixels))
    (image if mode is None else image.convert(mode)).save(path)
    return path


@pytest.fixture
def folders(tmp_path):
    """Two images of other sizes, and their masks."""
    for name, shape in (("a", (4, 5)), ("b", (3, 2))):
        save(tmp_path / "images" / f"{name}.png", np.full(shape, 128, dtype=np.uint8))
        save(tmp_path / "masks" / f"{name}.png", np.eye(*shape, dtype=np.uint8))
    return tmp_path / "images", tmp_path / "masks"


@pytest.mark.parametrize(
    ("pixels", "want"),
    [
        (np.array([[0, 51], [255, 102]], dtype=np.uint8), [[0.0, 0.2], [1.0, 0.4]]),
        (np.array([[0, 13107], [65535, 26214]], dtype=np.uint16), [[0.0, 0.2], [1.0, 0.4]]),
        (np.array([[False, True], [True, False]]), [[0.0, 1.0], [1.0, 0.0]]),
        (np.array([[[0, 51, 255]]], dtype=np.uint8), [[[0.0, 0.2, 1.0]]]),
        (np.array([[[0, 51, 255, 255]]], dtype=np.uint8), [[[0.0, 0.2, 1.0, 1.0]]]),
    ],
    ids=["8 bits", "16 bits", "1 bit", "colours", "with transparency"],
)
def test_brightness_goes_from_0_to_1_whatever_the_depth(tmp_path, pixels, want):
    found = read_image(save(tmp_path / "x.png", pixels))
    np.testing.assert_allclose(found, want, atol=1e-12)
    assert found.dtype == np.float64


def test_an_image_with_a_palette_has_colours_and_a_mask_has_numbers(tmp_path):
    image = Image.fromarray(np.array([[0, 1], [2, 1]], dtype=np.uint8), mode=None).convert("P")
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    image.save(tmp_path / "p.png")
    assert read_image(tmp_path / "p.png")[0, 1].tolist() == [1.0, 0.0, 0.0]
    assert read_mask(tmp_path / "p.png").tolist() == [[0, 1], [2, 1]]


@given(
    seed=st.integers(0, 2**31),
    most=st.sampled_from([1, 255, 256, 65535]),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6)),
)
@settings(max_examples=30)
def test_labels_come_back_as_they_were(tmp_path_factory, seed, most, shape):
    mask = np.random.default_rng(seed).integers(most + 1, size=shape)
    path = tmp_path_factory.getbasetemp() / "mask.png"
    write_mask(path, mask)
    assert np.array_equal(read_mask(path), mask)


def test_a_mask_of_two_colours_and_one_in_grey_colours(tmp_path):
    assert read_mask(save(tmp_path / "x.png", np.array([[True, False]]))).tolist() == [[255, 0]]
    assert read_mask(save(tmp_path / "y.png", np.array([[[7, 7, 7]]], dtype=np.uint8))).tolist() == [[7]]
    with pytest.raises(InputError, match=r"z\.png: the mask is a coloured image"):
        read_mask(save(tmp_path / "z.png", np.array([[[7, 8, 7]]], dtype=np.uint8)))


@pytest.mark.parametrize("mask", [[[0.5]], [[-1]], [[2**16]], [1, 2], np.empty((0, 3), dtype=int)])
def test_what_is_no_mask_is_not_written(tmp_path, mask):
    with pytest.raises(InputError, match="cannot be written as a mask"):
        write_mask(tmp_path / "x.png", mask)
    assert not (tmp_path / "x.png").exists()


def test_a_mask_is_replaced_at_once_or_not_at_all(tmp_path, monkeypatch):
    write_mask(tmp_path / "x.png", [[1, 2]])

    def full(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_mask(tmp_path / "x.png", [[3, 4]])
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]
    assert read_mask(tmp_path / "x.png").tolist() == [[1, 2]]


def test_folders_are_read_by_name(folders):
    images, masks = folders
    save(masks / "other.png", np.eye(2, dtype=np.uint8))
    (images / "notes.txt").write_text("no image")
    (images / ".hidden.png").write_text("no image")
    pairs = read_folders(images, masks)
    assert pairs.names == ["a", "b"]
    assert [image.shape for image in pairs.images] == [mask.shape for mask in pairs.masks] == [(4, 5), (3, 2)]
    assert list(find_images(images / "a.png")) == ["a"]


def test_folders_that_do_not_fit_are_refused(folders, tmp_path):
    images, masks = folders
    with pytest.raises(InputError, match="no such file or folder"):
        read_folders(tmp_path / "nowhere", masks)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: the folder has no images.*\.png"):
        read_folders(tmp_path / "empty", masks)
    save(images / "c.png", np.zeros((2, 2, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"c\.png: 1 of 3 images have no mask in"):
        read_folders(images, masks)
    save(masks / "c.png", np.zeros((2, 2), dtype=np.uint8))
    with pytest.raises(InputError, match=r"c\.png: the image has 3 channels, and a\.png had 1"):
        read_folders(images, masks)
    save(images / "c.png", np.zeros((2, 2), dtype=np.uint8))
    with pytest.raises(InputError, match=r"a\.png: the image has 1 channels, and training had 3"):
        read_folders(images, masks, n_channels=3)
    save(masks / "c.png", np.zeros((2, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"c\.png: the mask has 2×3 pixels, and its image has 2×2"):
        read_folders(images, masks)
    save(images / "a.bmp", np.zeros((4, 5), dtype=np.uint8))
    with pytest.raises(InputError, match=r"a\.bmp and a\.png have the same name"):
        read_folders(images, masks)


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_an_input_error_or_an_image(tmp_path, data):
    """Bytes changed, cut off or put in: the file is read, or refused by name; nothing else."""
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    path = save(tmp_path / "x.png", pixels if data.draw(st.booleans()) else pixels[..., 0])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        way = data.draw(st.sampled_from(["change", "cut", "put in"]))
        if way == "change" and content:
            content[place] = data.draw(st.integers(0, 255))
        elif way == "cut":
            del content[place:]
        else:
            content[place:place] = data.draw(st.binary(max_size=8))
    path.write_bytes(content)
    for read in (read_image, read_mask):
        refused = ""
        try:
            assert read(path).ndim in (2, 3)
        except InputError as error:
            refused = str(error)
        assert refused == "" or refused.startswith(f"{path}: ")


def test_text_with_the_name_of_an_image(tmp_path):
    (tmp_path / "x.png").write_text("no image")
    with pytest.raises(InputError, match=r"x\.png: the file cannot be read as an image"):
        read_image(tmp_path / "x.png")


def test_without_pillow_the_extra_is_named(tmp_path, monkeypatch):
    path = save(tmp_path / "x.png", np.zeros((2, 2), dtype=np.uint8))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"hedgerow\[lattice\]"):
        read_image(path)
