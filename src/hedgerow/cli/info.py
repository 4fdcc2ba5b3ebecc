"""`hedgerow info`: what a model file holds. And what `hedgerow train --model auto` says at the end: what was tried,
what it chose, and how to train that again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from hedgerow.cli import train_options as options
from hedgerow.cli.models import MODELS
from hedgerow.cli.train_options import option
from hedgerow.errors import plain
from hedgerow.estimators.facts import kept_iteration, model_sizes

SHOWN = 8  # models of the table
NAMED = 200  # labels, where there are many


def command(
    model: options.ModelFile, top: Annotated[int, option("N", "How many features and transitions to show.", min=0)] = 10
) -> None:
    """Show what a model file holds."""
    print(describe(model, top))


def describe(model: str, top: int = 10) -> str:
    """What a model file holds, as text. `top` is how many features and transitions to name."""
    from hedgerow.estimators.files import load

    loaded = load(model)
    return "\n".join(_lines(loaded, top) if hasattr(loaded, "schema_") else _lattice_lines(loaded))


def _labels(labels: Sequence[Any]) -> str:
    return " ".join([*map(plain, labels[:NAMED]), *["…"][: len(labels) > NAMED]])


def _lattice_lines(model: Any) -> Iterator[str]:
    """The lines about a model of graphs, which has no columns."""
    nodes, edges = model.n_features_
    yield f"{type(model).__name__}, of {nodes} features per node and {edges} per edge"
    yield f"{model.n_iter_} iterations ({model.outcome_}), loss {model.loss_:.4f}"
    yield f"labels ({len(model.classes_)}): {_labels(model.classes_.tolist())}"


def _lines(model: Any, top: int) -> Iterator[str]:
    from hedgerow.data.dataset import OUTSIDE_COLUMN
    from hedgerow.explain import importance

    schema = model.schema_
    if hasattr(model, "leaderboard_"):
        yield from _chosen_lines(model)
        model.best_estimator_.metadata_ = model.metadata_
        model = model.best_estimator_
    yield f"{type(model).__name__}, {', '.join(f'{number:,} {what}' for what, number in model_sizes(model).items())}"
    match model.metadata_.get("training"):
        case {"sequences": int(n_sequences), "positions": int(n_positions)}:
            yield f"trained on {n_sequences:,} sequences, {n_positions:,} positions"
    yield f"{model.n_iter_} iterations ({model.outcome_}{kept_iteration(model)}), loss {model.loss_:.4f}"
    yield f"labels ({len(schema.labels)}): {_labels(schema.labels)}"
    if getattr(model, "window", None) == "auto":
        yield f"window {model.window_} (auto)"
    if getattr(model, "order", None) == "auto":
        yield f"order {model.order_} (auto)"
    if schema.features:
        yield f"features {', '.join(schema.features)}{' (auto)' * (getattr(model, 'features', None) == 'auto')}"
    yield ""
    yield "columns"
    for column in schema.columns:
        if column.derived is not None or (column.name == OUTSIDE_COLUMN and not column.constant):  # not given
            continue
        values = f", {len(column.vocabulary):,} values" if column.vocabulary is not None else ""
        where = "of the whole sequence" if column.constant else _reach(column.offsets)
        yield f"  {plain(column.name)}: {column.kind}{values}, {where}"
    if len(schema.attributes):
        yield f"  {len(schema.attributes):,} attributes, {_reach(schema.attribute_offsets)}"
    match model.metadata_.get("reader"):
        case {"template": str(template)}:
            yield f"template, {len(template.splitlines())} lines"
    if top and hasattr(model, "weights_"):
        yield from _largest(model, top)
    elif top and hasattr(model, "ensemble_"):
        yield from ("", importance(model).table(top))


def _chosen_lines(model: Any) -> Iterator[str]:
    """Of a model that was looked for: what it is made of, and what was tried."""
    several = len(model.estimators_) > 1
    what = f"the average of {len(model.estimators_)} models" if several else "one model"
    yield f"{type(model).__name__}, {what} of {model.n_iter_} that were tried ({model.outcome_})"
    yield model.chosen_
    if model.leaderboard_:
        yield from ("", f"held-out {model.scoring_}", str(model.leaderboard_))
    yield from ("", "the best of them" if several else "the model")


def _reach(offsets: tuple[int, ...]) -> str:
    return "at its position" if offsets == (0,) else f"from {offsets[0]:+d} to {offsets[-1]:+d}"


def _largest(model: Any, top: int) -> Iterator[str]:
    import numpy as np

    features = [(f"{plain(feature)} → {plain(label)}", weight) for feature, label, weight in model.feature_weights()]
    yield from ("", f"weights of features, the {top} largest and the {top} smallest")
    yield from _ends(features, top)
    if not hasattr(model.layout_, "histories"):  # labels that came before are features like others
        return
    if model.layout_.histories is not None:
        runs = [(_run(before, label), weight) for before, label, weight in model.history_weights()]
        yield from ("", f"weights of runs of labels, {len(runs)} in all")
        yield from _ends(runs, top)
        return
    table, names = model.transition_weights_, model.schema_.labels
    legal = np.argwhere(np.isfinite(table))
    order = legal[np.argsort(-table[tuple(legal.T)], kind="stable")].tolist()
    yield from ("", f"weights of transitions, {table.size - len(order)} of {table.size} are forbidden")
    yield from _ends([(f"{plain(names[u])} → {plain(names[v])}", table[u, v]) for u, v in order], top)


def _run(before: tuple[Any, ...], label: Any) -> str:
    """Label C after A and B as text, "A B → C"; ⊥ stands before the first position."""
    names = " ".join("⊥" if one is None else plain(one) for one in before)
    return f"{names} → {plain(label)}" if names else plain(label)


def _ends(weights: list[tuple[str, float]], top: int) -> Iterator[str]:
    """The first and the last of a list that falls; all of it where it is short."""
    shown = weights if len(weights) <= 2 * top else [*weights[:top], *weights[-top:]]
    return (f"  {weight:+8.3f}  {name}" for name, weight in shown)


# ------------------------------------------------------------------------------------------------ after a search


def show_choice(model: Any, data: Sequence[str], path: str, reading: Mapping[str, Any], seed: int) -> None:
    """Print the best models as a table, and the lines that train the chosen one again."""
    from rich.console import Console
    from rich.table import Table

    if model.leaderboard_:
        heads = ("", model.scoring_, "± error", "log-loss", "folds", "seconds", "model")
        table = Table(box=None, pad_edge=False, title=None)
        for i, head in enumerate(heads):
            table.add_column(head, justify="left" if i in (0, 6) else "right", overflow="fold")
        for row in model.leaderboard_.rows(SHOWN):
            table.add_row(*row)
        print()
        Console(highlight=False, markup=False).print(table)
    print("\nto train the same again, in Python")
    print(f"  {model.chosen_}")
    line = command_line(model, data, path, reading, seed)
    if line is not None:
        print(f"in a shell\n  {line}")


def command_line(model: Any, data: Sequence[str], path: str, reading: Mapping[str, Any], seed: int) -> str | None:
    """The command that trains the chosen model again; None where only Python can say it: averages, and trees on a
    linear model."""
    from hedgerow.models.auto.candidates import changed_parameters

    best = model.best_estimator_
    names = {one.estimator: name for name, one in MODELS.items()}
    settings = changed_parameters(best)
    if len(model.estimators_) > 1 or type(best).__name__ not in names or hasattr(settings.get("init"), "fit"):
        return None
    inner = settings.pop("estimator", None)
    if hasattr(inner, "get_params"):  # its parameters are given as if they were the model's own
        settings = {"estimator": {"LinearCRF": "linear", "TreeCRF": "trees"}[type(inner).__name__]} | settings
        settings |= changed_parameters(inner)
    name = names[type(best).__name__]
    words = ["hedgerow", "train", *data, "-o", path, *_reading(reading), "--model", name]
    if MODELS[name].takes("window"):
        window = getattr(best, "window", 0)
        words += ["--window", ",".join(map(str, window)) if isinstance(window, tuple) else str(window)]
    if MODELS[name].takes("random_state"):
        words += ["--seed", str(seed)]
    for parameter, value in settings.items():
        if parameter == "features":
            words += ["--features", ",".join(best.features_)]
        elif parameter not in ("window", "n_jobs", "random_state", "columns", "verbose"):
            words += ["--set", f"{parameter}={value}"]
    return shlex.join(words)


def _reading(reading: Mapping[str, Any]) -> list[str]:
    """The options that say how files are read, as they were given."""
    words: list[str] = []
    for name, value in reading.items():
        if value:
            pairs = [f"{key}={kind}" for key, kind in value.items()] if isinstance(value, Mapping) else value
            text = pairs if isinstance(pairs, str) else ",".join(pairs)
            words += [f"--{name.replace('_', '-')}", text.replace("\t", "\\t")]
    return words
