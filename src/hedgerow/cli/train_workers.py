"""`hedgerow train --engine dask`: Parquet files in, which worker processes read and train on, a model file out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from hedgerow.cli import train_options as options
from hedgerow.cli.inputs import STANDARD, Reading, check_checkpoint, check_writable, format_of, kept_in, save
from hedgerow.cli.models import listed
from hedgerow.cli.recipe import Recipe
from hedgerow.cli.train import check_options, held_out_score, share_of
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.estimators.base import ChainModel

MODELS = {"linear": "LinearCRF", "tree": "TreeCRF"}
N_WORKERS = 2


def train_by_workers(
    data: Sequence[str],
    model_out: str,
    *,
    engine: str,
    workers: int | None = None,
    memory: str | None = None,
    model: str,
    dev: str | None = None,
    window: Any = None,
    scoring: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any],
    checkpoint: str | None = None,
    resume: bool = False,
    **reading: Unpack[Reading],
) -> ChainModel:
    """As `train`, of Parquet files that need not fit into memory, by worker processes of Dask on this machine."""
    share = share_of(dev)
    _check(data, engine, model, reading)
    unused = {"dev FILE": dev is not None and share is None, "jobs": parameters.get("n_jobs", -1) != -1}
    _refuse(unused | {name: reading.get(name) for name in ("template", "columns", "encoding")})
    if scoring is not None and (share == 0.0 or (dev is None and model != "tree")):
        raise InputError("--scoring is for --dev", hint="Give sequences to stop early by, as --dev 0.1.")
    check_writable(model_out, data, model=True)
    check_checkpoint(checkpoint, resume=resume, read=(*data, model_out))
    told: dict[str, Any] = {name: reading.get(name) or None for name in ("by", "time", "time_columns")}
    told["max_gap"] = options.number_or_name(reading.get("max_gap"))
    recipe = Recipe("parquet", label=reading.get("label") or "label", kinds=reading.get("kinds", {}), **_known(told))
    given = _known({"window": window, "scoring": scoring, "columns": dict(recipe.kinds) or None}) | dict(parameters)
    if share is not None:
        given |= _known({"early_stopping": share != 0.0, "validation_fraction": share or None})
    import hedgerow.dask
    from hedgerow.dask.engine import local_client

    began = perf_counter()
    with local_client(N_WORKERS if workers is None else workers, memory) as client:
        shared = getattr(hedgerow.dask, MODELS[model])(random_state=seed, client=client, **given)
        with kept_in(shared, checkpoint):
            shared.fit(list(data), label=recipe.label, **told)
            crf: ChainModel = shared.to_local()
            recipe = _with_columns(recipe, crf)
            crf.plan_ = recipe.plan(crf.plan_)
            facts: dict[str, Any] = dict(zip(("sequences", "positions", "held_out"), shared.n_read_))
            facts |= {"seconds": round(perf_counter() - began, 3), "score": held_out_score(crf)}
            crf.metadata_ = {"reader": recipe.to_json(), "training": facts}
            save(crf, model_out)
    return crf


def _check(data: Sequence[str], engine: str, model: str, reading: Reading) -> None:
    """Refuse another engine, model or format."""
    formats = [reading.get("format") or format_of(path) for path in data]
    for wrong, what, hint in (
        (engine != "dask", f"--engine is {engine!r}", "There is dask."),
        (model not in MODELS, f"--engine dask is for --model {listed(MODELS)}", f"This one is {model}."),
        (STANDARD in data or {*formats} != {"parquet"}, "--engine dask reads Parquet files", ""),
    ):
        if wrong:
            raise InputError(what, hint=hint)
    check_options("parquet", data[0], reading)


def _refuse(unused: Mapping[str, Any]) -> None:
    """Refuse options that were given, of those that workers have no use for."""
    for name, value in unused.items():
        if value:
            hint = "Give a share: 0.1." if name == "dev FILE" else "Leave it out, or train without --engine."
            raise InputError(f"--{name} is not supported with --engine dask", hint=hint)


def _with_columns(recipe: Recipe, crf: ChainModel) -> Recipe:
    """The recipe with the columns that were read and their kinds, as `read_training` gives it."""
    assert crf.plan_ is not None
    columns = crf.plan_.columns or ()
    found = {column.name: column.kind for column in crf.schema_.columns}
    kinds = {name: found[name] for name in columns if name in found}
    return replace(recipe, columns=columns, kinds={**kinds, **recipe.kinds})


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in given.items() if value is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
