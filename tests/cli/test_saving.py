"""Where commands write: never over what they read, never in place of a device, and so that a kill loses little."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

from hedgerow import load
from hedgerow.metrics import scorers, sequence_accuracy
from hedgerow.training import checkpoint
from tests.models.checkpoints import bits

from .conftest import conll, planted_text

LINEAR = ("--model", "linear", "-q")


def test_a_model_does_not_replace_what_it_is_trained_on(hedgerow, folder):
    text = (folder / "train.txt").read_text()
    os.link(folder / "train.txt", folder / "same.txt")
    (folder / "dev.txt").write_text(text)
    for arguments in (
        ("train.txt", "-o", "train.txt"),
        ("train.txt", "-o", "same.txt"),
        ("train.txt", "-o", "./train.txt"),
        ("train.txt", "-o", "dev.txt", "--dev", "dev.txt"),
        ("train.txt", "-o", "m", "--checkpoint", "train.txt", "--resume"),
    ):
        done = hedgerow("train", *arguments, *LINEAR)
        assert "would be replaced, and is read itself or written twice. Name another file." in done.complaint
    assert (folder / "train.txt").read_text() == text


def test_a_device_stays_one(hedgerow, folder):
    assert hedgerow("train", "train.txt", "-o", "/dev/null", *LINEAR).code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_model_to_standard_output(folder):
    command = [sys.executable, "-m", "hedgerow", "train", "train.txt", "-o", "-", "--model", "linear"]
    done = subprocess.run(command, capture_output=True, check=True)
    (folder / "m").write_bytes(done.stdout)
    assert type(load(folder / "m")).__name__ == "LinearCRF"
    assert b"sequences" in done.stderr


def test_a_model_is_not_for_a_terminal(hedgerow, folder, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "a model is not for a terminal" in hedgerow("train", "train.txt", "-o", "-", *LINEAR).complaint


def test_tags_replace_a_file_at_once_and_not_their_input(hedgerow, folder, trained, monkeypatch):
    (folder / "in.txt").write_text(conll((0, 1)))
    out = folder / "out.txt"
    out.write_text("old")
    out.chmod(0o640)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "broken")))
        assert hedgerow("tag", trained, "in.txt", "-o", "out.txt").code == 2
    assert out.read_text() == "old"
    assert sorted(os.listdir(folder)) == ["in.txt", "out.txt", "train.txt"]
    assert hedgerow("tag", trained, "in.txt", "-o", "out.txt").code == 0
    assert out.read_text().startswith("He PRP ")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert "read itself" in hedgerow("tag", trained, "in.txt", "-o", "in.txt").complaint
    before = trained.read_bytes()
    assert "read itself" in hedgerow("tag", trained, "in.txt", "-o", trained).complaint
    assert trained.read_bytes() == before
    assert hedgerow("tag", trained, "in.txt", "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# ------------------------------------------------------------------------------------------------ checkpoints

TREES = ("--by", "sequence", "--model", "tree", "--dev", "0.25", "--trees", 8, "--leaves", 4, "--window", 0, "-j", 1)


@pytest.fixture
def planted(folder, monkeypatch):
    (folder / "a.csv").write_text(planted_text())
    monkeypatch.setattr(checkpoint.Checkpoint.__init__, "__kwdefaults__", {"every": 0.0})
    return folder


def test_training_goes_on_after_it_has_died(hedgerow, planted, monkeypatch):
    assert hedgerow("train", "a.csv", "-o", "whole", *TREES, "-q").code == 0

    def dying(self, real=checkpoint.Checkpoint._write, calls=iter(range(100))):  # noqa: B008
        real(self)
        if next(calls) == 12:
            raise RuntimeError("died")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "_write", dying)
        with pytest.raises(RuntimeError, match="died"):
            hedgerow("train", "a.csv", "-o", "m", *TREES, "-q", "--checkpoint", "kept")
    assert not (planted / "m").exists()
    done = hedgerow("train", "a.csv", "-o", "m", *TREES, "--checkpoint", "kept")
    assert "kept: the checkpoint is there already. Give --resume to go on from it, or delete it" in done.complaint
    other = hedgerow("train", "a.csv", "-o", "m", *TREES, "--checkpoint", "kept", "--resume", "--seed", 5)
    assert "other parameters (random_state)" in other.complaint
    done = hedgerow("train", "a.csv", "-o", "m", *TREES, "--checkpoint", "kept", "--resume")
    assert done.code == 0
    assert "going on from a checkpoint after iteration" in done.err
    assert not (planted / "kept").exists()
    again, whole = (bits(load(planted / name))[1:] for name in ("m", "whole"))
    assert again == whole


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_best_model_and_the_checkpoint(hedgerow, planted, monkeypatch, number):
    def pressing(times):
        calls = iter(range(100))

        def metric(true, predicted):
            if next(calls) == 3:
                for _ in range(times):
                    os.kill(os.getpid(), number)
            return sequence_accuracy(true, predicted)

        monkeypatch.setitem(scorers.METRICS, "sequence_accuracy", metric)

    options = ("--by", "sequence", "--model", "linear", "--dev", "0.25", "--scoring", "sequence_accuracy", "-j", 1)
    pressing(1)
    done = hedgerow("train", "a.csv", "-o", "m", *options, "--checkpoint", "kept")
    assert done.code == 130
    assert f"stopping after this iteration; send {number.name} again to give up at once" in done.err
    assert "(interrupted" in done.out
    assert load(planted / "m").outcome_ == "interrupted"
    assert (planted / "kept").exists()
    pressing(2)
    assert hedgerow("train", "a.csv", "-o", "n", *options).code == 130
    assert not (planted / "n").exists()


def test_a_checkpoint_is_not_where_the_model_goes(hedgerow, planted):
    """It is removed when the model is saved: the model would be gone."""
    done = hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", "--model", "tree", "--checkpoint", "m")
    assert done.code == 2
    assert "would be replaced, and is read itself or written twice" in done.complaint


def test_what_cannot_be_kept(hedgerow, planted):
    auto = hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", "--checkpoint", "kept", "-q").complaint
    assert "--checkpoint is not supported with --time-budget. Give n_trials" in auto
    assert "Give --checkpoint FILE" in hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", "--resume").complaint
    no = hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", "--checkpoint", "no/kept").complaint
    assert "the folder 'no' does not exist" in no


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_device_that_takes_nothing_is_named(hedgerow, folder):
    (folder / "train.txt").write_text(conll())
    assert "/dev/full: No space left on device" in hedgerow("train", "train.txt", *LINEAR, "-o", "/dev/full").complaint
