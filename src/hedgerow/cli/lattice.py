"""`hedgerow lattice`: folders of images and masks in; a model, masks of new images, or how good they are out."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from hedgerow.cli import report
from hedgerow.cli import train_options as options
from hedgerow.cli.flags import as_typed, in_flags
from hedgerow.cli.inputs import STANDARD, check_checkpoint, check_writable, kept_in, save
from hedgerow.cli.models import settings_of
from hedgerow.cli.train import INTERRUPTED, log_lines
from hedgerow.cli.train_options import option
from hedgerow.errors import InputError, plain

if TYPE_CHECKING:
    from hedgerow.legend import IndexArray

Images = Annotated[str, Argument(metavar="IMAGES", help="A folder of images, or one image.")]
Masks = Annotated[str, Argument(metavar="MASKS", help="A folder of masks with the names of the images.")]

app = typer.Typer(
    help="Label the pixels of images: train on images and masks, segment new images, measure how good it is.",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)


@app.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("train")
def train_command(
    images: Images,
    masks: Masks,
    out: Annotated[str, option("FILE", "Where the model goes; - is standard output.", "--out", "-o")],
    trees: Annotated[bool, Option("--trees", help="Scores by trees instead of weights.")] = False,
    neighbours: Annotated[int, option("N", "Neighbours of a pixel: 4 or 8.")] = 4,
    form: Annotated[str, option("NAME", "symmetric, full or ising.")] = "symmetric",
    objective: Annotated[str, option("NAME", "log_likelihood, pseudo_likelihood or margin.")] = "log_likelihood",
    inference: Annotated[
        str | None, option("NAME", "tree_reweighted, loopy or mean_field. \\[tree_reweighted; of trees loopy]")
    ] = None,
    trainer: Annotated[str | None, option("NAME", "Of weights: lbfgs, sgd, annealed_sgd, smd. \\[lbfgs]")] = None,
    l2: Annotated[float | None, option("C", "The penalty of weights. \\[1.0]")] = None,
    max_iter: Annotated[int | None, option("N", "The most iterations. \\[200]")] = None,
    unlabelled: Annotated[int | None, option("VALUE", "Of pixels without a label.")] = None,
    settings: options.Set = None,
    jobs: options.Jobs = -1,
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on images and their masks. Ctrl-C keeps the best so far; --checkpoint FILE outlives a kill.

    The channels of a pixel are its features, their differences those of an edge. Every value in the masks is a label.
    """
    given: dict[str, Any] = {"neighbours": neighbours, "form": form, "objective": objective, "inference": inference}
    given |= {"unlabelled": unlabelled, "n_jobs": jobs, "verbose": 0 if quiet else 1}
    given |= {"n_estimators" if trees else "max_iter": max_iter, "l2": l2, "trainer": trainer}
    given |= settings_of(_estimator(trees), "TreeLatticeCRF" if trees else "LatticeCRF", settings or (), trainer)
    quietly = contextlib.nullcontext() if quiet else log_lines()
    with in_flags(train_command, {"n_jobs": "jobs", "n_estimators": "max_iter"}), quietly:
        model = train(images, masks, out, trees=trees, checkpoint=checkpoint, resume=resume, **given)
    if not quiet:
        shown = " ".join(map(plain, model.classes_.tolist()))
        end = "stopped by --max-iter" if model.outcome_ == "max_iter" else model.outcome_
        told = f"labels {shown}; {model.n_iter_} iterations ({end}), loss {model.loss_:.4f}"
        print(told, file=sys.stderr if out == STANDARD else sys.stdout)
    if model.outcome_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _estimator(trees: bool) -> Any:
    from hedgerow.lattice import LatticeCRF, TreeLatticeCRF

    return TreeLatticeCRF if trees else LatticeCRF


def train(
    images: str,
    masks: str,
    out: str,
    *,
    trees: bool = False,
    checkpoint: str | None = None,
    resume: bool = False,
    **parameters: Any,
) -> Any:
    """Fit a LatticeCRF, or with `trees` a TreeLatticeCRF, to a folder of images and one of masks, and save it.

    out : where the model goes
    parameters : of the estimator; None stands for its default
    """
    from hedgerow.lattice.images import read_folders

    check_writable(out, model=True)
    check_checkpoint(checkpoint, resume=resume, read=(out,))
    parameters = {name: value for name, value in parameters.items() if value is not None}
    for name in ("l2", "trainer"):
        if trees and name in parameters:
            raise InputError(f"--{name} is for weights, and --trees has none")
    model = _estimator(trees)(**parameters)
    model._check_parameters()  # before images are read
    pairs = read_folders(images, masks)
    with kept_in(model, checkpoint):
        with warnings.catch_warnings():
            # How training ended is in the summary.
            warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
            model.fit(pairs.images, pairs.masks)
        save(model, out)
    return model


@app.command("segment")
def segment_command(
    model: options.ModelFile,
    images: Images,
    out: Annotated[str, option("FOLDER", "Where the masks go.", "--out", "-o")],
    decoder: Annotated[str | None, option("NAME", "posterior, max_product, icm, graph_cut. \\[the model's]")] = None,
) -> None:
    """Write a mask for each image, as a PNG file of its name.

    The values of its pixels are those of the masks in training. Files of these names in the folder are replaced.
    """
    with in_flags(segment_command):
        written = segment(model, images, out, decoder=decoder)
    print(f"{len(written)} {'mask' if len(written) == 1 else 'masks'} in {out}")


def segment(model: str, images: str, out: str, *, decoder: str | None = None) -> list[Path]:
    """Write the masks of the images of a folder to another; the files written."""
    from hedgerow.lattice.images import find_images, read_images, write_mask

    crf = _load(model)
    files = find_images(images)
    folder = Path(out)
    _check_folder(folder)
    if any(path.parent.resolve() == folder.resolve() for path in files.values()):
        raise InputError("masks would replace the images", hint="Give --out another folder.", path=out)
    pixels = read_images(files.values(), n_channels=crf.n_features_[0])
    predicted = crf.predict(pixels, decoder=decoder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.png" for name in files]
    for path, mask in zip(written, predicted):
        write_mask(path, mask)
    return written


def _check_folder(folder: Path) -> None:
    """Refuse a place where no masks can be written before the model takes its time."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise InputError(f"{str(nearest)!r} is a file", hint="Name a folder.", path=str(folder))
    if not os.access(nearest, os.W_OK):
        raise InputError(f"the folder {str(nearest)!r} cannot be written to", path=str(folder))


@app.command("eval")
def evaluate_command(model: options.ModelFile, images: Images, masks: Masks, as_json: options.AsJson = False) -> None:
    """Compare the masks that a model finds with given ones, pixel by pixel."""
    with in_flags(evaluate_command):
        report = evaluate(model, images, masks)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)


@app.command("report")
def report_command(
    context: typer.Context,
    model: options.ModelFile,
    images: Images,
    masks: Masks,
    out: report.Out,
    shown: report.Shown = 40,
    suspects: report.SuspectsFile = None,
    next_file: report.NextFile = None,
    title: report.Title = None,
) -> None:
    """Write a page on how good a model is and where it errs, with the images, which any browser shows."""
    from hedgerow.lattice.images import read_folders
    from hedgerow.report import make_report

    report.check_outputs((out, suspects, next_file), (model, images, masks))
    crf = _load(model)
    pairs = read_folders(images, masks, n_channels=crf.n_features_[0])
    told = title or f"{Path(model).name} on {images}"
    with in_flags(report_command):
        made = make_report(
            crf, pairs.images, pairs.masks, n_shown=shown, title=told, command=as_typed(context),
            files={"model file": model},
        )  # fmt: skip
    report.tell(report.write(made, out, suspects, next_file), out)


@dataclass(frozen=True)
class Segmentation:
    """What `evaluate` returns. counts[u][v] are the pixels with the label u of `labels` that were labelled v."""

    labels: list[int]
    counts: list[list[int]]

    def to_dict(self) -> dict[str, Any]:
        """Pixels, accuracy, and by label its pixels, precision, recall and intersection over union."""
        right, n_true = [row[k] for k, row in enumerate(self.counts)], [sum(row) for row in self.counts]
        total, each = sum(n_true), {}
        for label, both, true, column in zip(self.labels, right, n_true, zip(*self.counts)):
            predicted = sum(column)
            ratios = {"precision": predicted, "recall": true, "iou": true + predicted - both}
            each[str(label)] = {"pixels": true} | {name: _share(both, whole) for name, whole in ratios.items()}
        return {"pixels": total, "accuracy": _share(sum(right), total), "labels": each}

    def __str__(self) -> str:
        report = self.to_dict()
        lines = [f"{'label':>6} {'pixels':>10} {'precision':>9} {'recall':>7} {'IoU':>7}"]
        for label, scores in report["labels"].items():
            shown = f"{scores['precision']:9.4f} {scores['recall']:7.4f} {scores['iou']:7.4f}"
            lines.append(f"{label:>6} {scores['pixels']:10,} {shown}")
        lines.append(f"accuracy {report['accuracy']:.4f} ({report['pixels']:,} pixels)")
        return "\n".join(lines)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def evaluate(model: str, images: str, masks: str) -> Segmentation:
    """Compare the labels that a model gives the pixels of images with those of masks; pixels without a label do not
    count."""
    import numpy as np

    from hedgerow.lattice.images import MASKS, find_images, read_folders

    crf = _load(model)
    pairs = read_folders(images, masks, n_channels=crf.n_features_[0])
    labels = crf.classes_.tolist()
    files = find_images(masks, MASKS)
    for name, mask in zip(pairs.names, pairs.masks):
        strange = sorted({*np.unique(mask).tolist()} - {*labels, crf.unlabelled})
        if strange:
            hint = f"Labels of the model: {' '.join(map(str, labels))}."
            raise InputError(f"the model does not know the label {strange[0]}", hint=hint, path=str(files[name]))
    counts: IndexArray = np.zeros((len(labels), len(labels)), dtype=np.int64)
    for mask, predicted in zip(pairs.masks, crf.predict(pairs.images)):
        known = np.isin(mask, labels)
        np.add.at(counts, (np.searchsorted(labels, mask[known]), np.searchsorted(labels, predicted[known])), 1)
    return Segmentation(labels, counts.tolist())


def _load(path: str) -> Any:
    """A model of images, with whole numbers for labels."""
    from hedgerow.estimators.files import load

    model = load(path)
    if type(model).__name__ not in ("LatticeCRF", "TreeLatticeCRF"):
        hint = "Train one with hedgerow lattice train; hedgerow tag and eval are for sequences."
        raise InputError(f"the file holds a {type(model).__name__}, which labels no images", hint=hint, path=path)
    if model.classes_.dtype.kind != "i" or model.ndim != 2 or model.n_features_[1] != 0:
        raise InputError("the model was trained on other items than images and masks", path=path)
    return model
