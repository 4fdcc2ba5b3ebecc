"""hedgerow lattice: from folders of images and masks to masks of new images."""

from __future__ import annotations

import json
import os
import signal
import warnings

import numpy as np
import pytest

from hedgerow.cli.lattice import Segmentation, evaluate
from hedgerow.datasets.shapes import make_shapes
from hedgerow.lattice import load, read_image, read_mask, write_mask

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Folders train, train_masks, test, test_masks of grey images; masks are 0 and 200. And a model of them."""
    folder = tmp_path_factory.mktemp("shapes")
    images, masks = make_shapes(7, size=16, noise=0.5, random_state=3)
    for i, (image, mask) in enumerate(zip(images, masks)):
        part = "train" if i < 5 else "test"
        for name in (part, f"{part}_masks"):
            (folder / name).mkdir(exist_ok=True)
        grey = np.clip(85.0 * (image + 1.0), 0, 255).astype(np.uint8)
        Image.fromarray(grey).save(folder / part / f"{i}.png")
        write_mask(folder / f"{part}_masks" / f"{i}.png", 200 * mask)
    return folder


@pytest.fixture(scope="module")
def model(corpus):
    from hedgerow.cli.main import run

    path = corpus / "model"
    arguments = ["lattice", "train", str(corpus / "train"), str(corpus / "train_masks"), "-o", str(path)]
    assert run([*arguments, "--form", "ising", "--jobs", "1", "-q"]) == 0
    return path


def test_from_folders_to_masks(hedgerow, corpus, model, tmp_path):
    done = hedgerow("lattice", "segment", model, corpus / "test", "--out", tmp_path / "found")
    assert (done.code, done.out) == (0, f"2 masks in {tmp_path / 'found'}\n")
    crf = load(model)
    assert crf.classes_.tolist() == [0, 200]
    for name in ("5", "6"):
        found = read_mask(tmp_path / "found" / f"{name}.png")
        assert np.array_equal(found, crf.predict([read_image(corpus / "test" / f"{name}.png")])[0])
    one = hedgerow("lattice", "segment", model, corpus / "test" / "5.png", "-o", tmp_path / "one", "--decoder", "icm")
    assert one.out == f"1 mask in {tmp_path / 'one'}\n"


def test_how_good_it_is(hedgerow, corpus, model):
    done = hedgerow("lattice", "eval", model, corpus / "test", corpus / "test_masks", "--json")
    report = json.loads(done.out)
    crf = load(model)
    files = [corpus / "test" / f"{name}.png" for name in ("5", "6")]
    masks = [read_mask(corpus / "test_masks" / file.name) for file in files]
    right = crf.score([read_image(file) for file in files], masks)
    assert report["accuracy"] == pytest.approx(right)
    assert report["pixels"] == 2 * 16 * 16
    assert set(report["labels"]) == {"0", "200"}
    text = hedgerow("lattice", "eval", model, corpus / "test", corpus / "test_masks").out
    assert f"accuracy {right:.4f} (512 pixels)" in text


def test_a_report_is_counted_right():
    found = Segmentation([0, 7], [[6, 2], [1, 3]]).to_dict()
    assert found["accuracy"] == 9 / 12
    assert found["labels"]["7"] == {"pixels": 4, "precision": 3 / 5, "recall": 3 / 4, "iou": 3 / 6}
    empty = Segmentation([0, 7], [[0, 0], [0, 0]]).to_dict()
    assert empty["accuracy"] == empty["labels"]["0"]["iou"] == 0.0


def test_trees_and_pixels_without_a_label(hedgerow, corpus, tmp_path):
    holes = tmp_path / "holes"
    holes.mkdir()
    for path in (corpus / "train_masks").iterdir():
        mask = read_mask(path)
        mask[:4] = 99
        write_mask(holes / path.name, mask)
    own = ("--trees", "--max-iter", "3", "--unlabelled", "99", "--jobs", "1")
    done = hedgerow("lattice", "train", corpus / "train", holes, "-o", tmp_path / "m", *own)
    assert done.code == 0
    assert done.out.startswith("labels 0 200; 3 iterations")
    counted = evaluate(str(tmp_path / "m"), str(corpus / "train"), str(holes))
    assert sum(map(sum, counted.counts)) == 5 * 12 * 16


def test_what_is_wrong_is_said(hedgerow, corpus, model, tmp_path, folder):
    train = ("lattice", "train", corpus / "train")
    assert "there is no such file or folder" in hedgerow(*train, tmp_path / "no", "-o", "m").complaint
    assert "images have no mask" in hedgerow(*train, corpus / "test_masks", "-o", "m").complaint
    assert "--form is 'odd'" in hedgerow(*train, corpus / "train_masks", "-o", "m", "--form", "odd").complaint
    assert "no 5 neighbours" in hedgerow(*train, corpus / "train_masks", "-o", "m", "--neighbours", "5").complaint
    for flag, value in (("--l2", "1"), ("--trainer", "sgd")):
        wrong = hedgerow(*train, corpus / "train_masks", "-o", "m", "--trees", flag, value)
        assert f"{flag} is for weights, and --trees has none" in wrong.complaint
    wrong = hedgerow(*train, corpus / "train_masks", "-o", "m", "--set", "gian=1")
    assert "LatticeCRF has no parameter 'gian'. It has directions," in wrong.complaint
    same = hedgerow("lattice", "segment", model, corpus / "test", "-o", corpus / "test")
    assert "masks would replace the images" in same.complaint
    strange = tmp_path / "strange"
    strange.mkdir()
    for name in ("5", "6"):
        write_mask(strange / f"{name}.png", np.full((16, 16), 3))
    complaint = hedgerow("lattice", "eval", model, corpus / "test", strange).complaint
    assert "5.png: the model does not know the label 3. Labels of the model: 0 200." in complaint
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(tmp_path / "colour.png")
    coloured = hedgerow("lattice", "segment", model, tmp_path / "colour.png", "-o", tmp_path / "x")
    assert "the image has 3 channels, and training had 1" in coloured.complaint


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(hedgerow, corpus, model, folder, monkeypatch):
    monkeypatch.setattr("hedgerow.lattice.LatticeCRF.fit", None)
    monkeypatch.setattr("hedgerow.lattice.LatticeCRF.predict", None)
    train = ("lattice", "train", corpus / "train", corpus / "train_masks", "-o")
    assert hedgerow(*train, "no/m").complaint == "no/m: the folder 'no' does not exist"
    assert hedgerow(*train, corpus).complaint == f"{corpus}: is a folder. Name a file."
    segment = ("lattice", "segment", model, corpus / "test", "-o")
    assert hedgerow(*segment, "train.txt").complaint == "train.txt: 'train.txt' is a file. Name a folder."
    assert "is a file. Name a folder." in hedgerow(*segment, "train.txt/deeper").complaint
    monkeypatch.setattr("os.access", lambda path, mode: False)  # to root every folder is open
    assert "cannot be written to" in hedgerow(*train, "m").complaint
    assert "cannot be written to" in hedgerow(*segment, "found").complaint
    assert not (folder / "found").exists()


def test_any_parameter_and_how_training_went(hedgerow, corpus, folder):
    """Each iteration is a line; how training ended is told once, by the summary."""
    train = ("lattice", "train", corpus / "train", corpus / "train_masks", "-o", "m", "--jobs", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = hedgerow(*train, "--max-iter", "2", "--set", "edge_start=0.25", "--set", "directions=separate")
    assert done.code == 0
    assert [line.split("  loss")[0] for line in done.err.splitlines()] == ["iteration 1", "iteration 2"]
    assert "2 iterations (stopped by --max-iter)" in done.out
    assert (load("m").edge_start, load("m").directions) == (0.25, "separate")


def test_ctrl_c_keeps_the_model(hedgerow, corpus, folder, monkeypatch):
    from hedgerow.training.monitor import Monitor

    step = Monitor.step

    def pressed(monitor, *given):
        if monitor.verbose:  # not the one of the weights to start from
            os.kill(os.getpid(), signal.SIGINT)
        return step(monitor, *given)

    monkeypatch.setattr(Monitor, "step", pressed)
    train = ("lattice", "train", corpus / "train", corpus / "train_masks", "-o", "m", "--jobs", "1")
    done = hedgerow(*train)
    assert (done.code, "1 iterations (interrupted)" in done.out) == (130, True)
    assert "press Ctrl-C again" in done.err
    assert load("m").n_iter_ == 1


def test_without_a_command_there_is_help(hedgerow):
    assert hedgerow("lattice") == hedgerow("lattice", "--help")


def test_a_model_of_sequences_labels_no_images(hedgerow, trained, corpus):
    done = hedgerow("lattice", "segment", trained, corpus / "test", "-o", "x")
    assert "holds a LinearCRF, which labels no images" in done.complaint


def test_a_model_of_images_labels_no_sequences_and_says_what_it_is(hedgerow, model, corpus):
    for command in (("tag", model, __file__), ("eval", model, __file__), ("explain", model)):
        assert "which labels images. Use `hedgerow lattice segment`" in hedgerow(*command).complaint
    lines = hedgerow("info", model).out.splitlines()
    assert lines[0] == "LatticeCRF, of 1 features per node and 0 per edge"
    assert lines[-1] == "labels (2): 0 200"


@pytest.mark.parametrize("command", [(), ("train",), ("segment",), ("eval",)])
def test_the_help_fits_a_screen(hedgerow, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = hedgerow("lattice", *command, "--help").out.splitlines()
    assert 10 < len(lines) <= 43
    assert max(map(len, lines)) <= 100
