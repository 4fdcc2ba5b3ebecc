"""Image files to arrays and masks back to files. Pillow reads them; it is only imported here, and only when asked.

Brightness goes from 0 to 1 whatever the depth of the file, so that a model is not tied to one. The values of a mask are
labels: they are whole numbers and stay as they are.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.persistence import replace_file

MASKS = (".png", ".tif", ".tiff", ".bmp")
IMAGES = (*MASKS, ".jpg", ".jpeg")  # what JPEG loses does no harm to an image, but labels are no longer labels
MAX_LABEL = 2**16 - 1  # of a pixel of a PNG file


class Pairs(NamedTuple):
    """Images and their masks, in the order of their names (file names without the suffix)."""

    names: list[str]
    images: list[FloatArray]
    masks: list[IndexArray]


def read_image(path: str | os.PathLike[str]) -> FloatArray:
    """(H, W) of a grey image, (H, W, channels) of a coloured one; 0 is black and 1 is full brightness."""
    pixels = _read(path, palette=False)
    if pixels.dtype.kind in "bf":
        return pixels.astype(np.float64)
    largest = 255.0 if pixels.dtype == np.uint8 else 65535.0
    return pixels / largest


def read_mask(path: str | os.PathLike[str]) -> IndexArray:
    """(H, W): the value of each pixel, which is its label. White in a file of two colours is 255."""
    pixels = _read(path, palette=True)
    if pixels.dtype == np.bool_:
        pixels = 255 * pixels.astype(np.uint8)
    if pixels.ndim == 3 and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]  # grey, written as a colour
    if pixels.ndim != 2 or pixels.dtype.kind not in "iu":
        hint = "A mask has one whole number per pixel: save it in grey, or with a palette."
        raise InputError("the mask is a coloured image, or has fractions", hint=hint, path=os.fspath(path))
    return pixels.astype(INDEX)


def write_mask(path: str | os.PathLike[str], mask: Any) -> None:
    """Write labels (H, W) from 0 to 65535 as a grey PNG file; of 8 bits where they fit.

    A file that is there is replaced at once, or not at all.
    """
    labels = np.asarray(mask)
    whole = labels.ndim == 2 and labels.dtype.kind in "biu"
    if not whole or labels.size == 0 or labels.min() < 0 or labels.max() > MAX_LABEL:
        hint = f"Give an array (height, width) of whole numbers from 0 to {MAX_LABEL}."
        raise InputError("the labels cannot be written as a mask", hint=hint, path=os.fspath(path))
    depth = np.uint8 if labels.max() <= 255 else np.uint16
    file = io.BytesIO()
    _pillow().fromarray(labels.astype(depth)).save(file, format="PNG")
    replace_file(path, [file.getbuffer()])


def find_images(place: str | os.PathLike[str], suffixes: tuple[str, ...] = IMAGES) -> dict[str, Path]:
    """Name without suffix → file, of a folder of images, in the order of the names; or of one file."""
    where = Path(place)
    if where.is_file():
        return {where.stem: where}
    if not where.is_dir():
        raise InputError("there is no such file or folder", path=str(where))
    files: dict[str, Path] = {}
    for path in sorted(where.iterdir()):
        if path.suffix.lower() not in suffixes or path.name.startswith("."):
            continue
        if path.stem in files:
            hint = "An image and its mask are matched by the name before the suffix; rename one."
            raise InputError(f"{files[path.stem].name} and {path.name} have the same name", hint=hint, path=str(where))
        files[path.stem] = path
    if not files:
        hint = f"Files are taken by their suffix: {' '.join(suffixes)}."
        raise InputError("the folder has no images", hint=hint, path=str(where))
    return files


def read_images(paths: Iterable[Path], *, n_channels: int | None = None) -> list[FloatArray]:
    """Images that go together: with as many channels each, and as many as n_channels where it is given."""
    images: list[FloatArray] = []
    first, wanted = "training", n_channels
    for path in paths:
        image = read_image(path)
        channels = 1 if image.ndim == 2 else image.shape[2]
        if wanted is None:
            first, wanted = path.name, channels
        if channels != wanted:
            hint = "Save all as grey or all as coloured images, with or without transparency."
            raise InputError(f"the image has {channels} channels, and {first} had {wanted}", hint=hint, path=str(path))
        images.append(image)
    return images


def read_folders(
    images: str | os.PathLike[str], masks: str | os.PathLike[str], *, n_channels: int | None = None
) -> Pairs:
    """The images of a folder and their masks in another, which have the same names but for the suffix.

    Masks without an image are left alone: a folder of masks may serve several folders of images.
    """
    files, of_masks = find_images(images), find_images(masks, MASKS)
    without_mask = [path for name, path in files.items() if name not in of_masks]
    if without_mask:
        what = f"{len(without_mask)} of {len(files)} images have no mask in {os.fspath(masks)}"
        raise InputError(what, hint="Name it like its image, but for the suffix.", path=str(without_mask[0]))
    pixels = read_images(files.values(), n_channels=n_channels)
    labels = [read_mask(of_masks[name]) for name in files]
    for name, image, mask in zip(files, pixels, labels):
        if image.shape[:2] != mask.shape:
            sizes = ["×".join(map(str, shape)) for shape in (mask.shape, image.shape[:2])]
            what = f"the mask has {sizes[0]} pixels, and its image has {sizes[1]}"
            raise InputError(what, path=str(of_masks[name]))
    return Pairs(list(files), pixels, labels)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("Pillow", "lattice", "Reading and writing images") from error
    return Image


def _read(path: str | os.PathLike[str], *, palette: bool) -> AnyArray:
    """The pixels of a file; with `palette` the numbers of colours where it has a palette, else the colours."""
    pillow = _pillow()
    try:
        with pillow.open(path) as image:
            image.load()
            if image.mode == "P" and not palette:
                image = image.convert("RGBA" if "transparency" in image.info else "RGB")
            pixels: AnyArray = np.asarray(image)
    except Exception as error:  # a damaged file makes Pillow raise nearly anything: SyntaxError, struct.error …
        reason = str(error).partition("\n")[0] or type(error).__name__
        hint = "Save it again as PNG."
        raise InputError(f"the file cannot be read as an image ({reason})", hint=hint, path=os.fspath(path)) from error
    if 0 in pixels.shape or pixels.ndim not in (2, 3):
        raise InputError("the image has no pixels", path=os.fspath(path))
    return pixels
