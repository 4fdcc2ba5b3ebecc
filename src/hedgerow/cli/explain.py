"""`hedgerow explain`: what a model has learnt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Option

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import in_flags
from hedgerow.cli.inputs import Input, load_chain
from hedgerow.cli.train_options import option
from hedgerow.errors import LONGEST_LINE, InputError, plain

if TYPE_CHECKING:
    from hedgerow.estimators.why.explanation import Explanation

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Why this label</title>'
    '<body style="font-family:system-ui,sans-serif;margin:2em">{}</body></html>\n'
)


def command(
    model: options.ModelFile,
    data: Annotated[str | None, options.file("DATA", "A file with the sequence whose label is in question.")] = None,
    sequence: Annotated[int, option("N", "With DATA: which sequence, from 0.", min=0)] = 0,
    position: Annotated[int | None, option("N", "With DATA: which of its positions, from 0.")] = None,
    against: Annotated[str | None, option("NAME", "With DATA: the other label. \\[the runner-up]")] = None,
    changes: Annotated[bool, Option("--changes", help="With DATA: also what would turn the label.")] = False,
    as_json: options.AsJson = False,
    html: Annotated[str | None, option("FILE", "With DATA: write a page, too.")] = None,
    format: Annotated[str | None, option("NAME", "The data's format. \\[by suffix; as in training]")] = None,
    by: Annotated[str | None, option("NAME", "Importance by gain or by use; linear: by weight.")] = None,
    top: Annotated[int, option("N", "How many features to show.", min=1)] = 20,
    tree: Annotated[int | None, option("N", "Show the tree of this iteration, from 1.")] = None,
    rules: Annotated[int | None, option("N", "Show the N rules that weigh most.", min=1)] = None,
    label: Annotated[str | None, option("NAME", "Whose tree or rules; with DATA: the label to explain.")] = None,
    plot: Annotated[str | None, option("FILE", "Draw it, too: .png, .svg, .pdf.")] = None,
) -> None:
    """Show what a model has learnt, or why a position has its label.

    How important each feature is; or one tree; or the trees as rules, each with its weight.

    With DATA and --position: what speaks for the label there, and what against it.
    """
    with in_flags(command):
        if data is None:
            if position is not None or against is not None or changes or as_json or html is not None:
                hint = "Name the file with the sequence after the model."
                raise InputError("--position, --against, --changes, --json and --html need DATA", hint=hint)
            _print(explain(model, by=by, top=top, tree=tree, rules=rules, label=label, plot=plot))
            return
        if tree is not None or rules is not None or by is not None:
            raise InputError("--tree, --rules and --by are of the whole model", hint="Leave out DATA.")
        found = explain_label(
            model, data, sequence=sequence, position=position, label=label, against=against, changes=changes,
            format=format,
        )  # fmt: skip
        if plot is not None:
            from hedgerow.report import plot_explanation

            plot_explanation(found, n=top, path=plot)
    if html is not None:
        Path(html).write_text(_PAGE.format(found.to_html(top)), encoding="utf-8")
    if as_json:
        print(found.to_json())
    else:
        _print(found.table(top))


def _print(text: str) -> None:
    """Print a text without the control characters that a terminal would obey."""
    print("\n".join(plain(line, LONGEST_LINE) for line in text.split("\n")))


def explain_label(
    model: str, data: str, *, sequence: int = 0, position: int | None = None, label: str | None = None,
    against: str | None = None, changes: bool = False, format: str | None = None,
) -> Explanation:  # fmt: skip
    """Why a position of a file has its label. The parameters are the options of the command."""
    from hedgerow.cli.recipe import recipe_of

    if position is None:
        raise InputError("--position is missing", hint="Say which position of the sequence, from 0.")
    crf = load_chain(model)
    if not hasattr(crf, "explain"):
        what = f"{type(crf).__name__} has no probabilities, and so no explanation of a label"
        raise InputError(what, hint="Train another model.", path=model)
    source = Input(data)
    X, _ = recipe_of(crf, source, format).read(source)
    dataset = crf.encode(X)
    if sequence >= dataset.n_sequences:
        hint = f"It has {dataset.n_sequences}, from 0 on."
        raise InputError(f"there is no sequence {sequence}", hint=hint, path=source.name)
    one = dataset.take(np.array([sequence]))
    named = [None if name is None else _find_label(crf, name) for name in (label, against)]
    found: Explanation = crf.explain(one, position, named[0], against=named[1], counterfactuals=changes)
    return found


def explain(
    model: str, *, by: str | None = None, top: int = 20, tree: int | None = None, rules: int | None = None,
    label: str | None = None, plot: str | None = None,
) -> str:  # fmt: skip
    """What a model has learnt, as text. The parameters are the options of the command."""
    _check_options(by, tree, rules, label, plot)
    crf = load_chain(model)
    crf = getattr(crf, "best_estimator_", crf)
    crf = getattr(crf, "scorer_", crf)  # what classifies the positions of a local model is a linear or tree model
    if tree is not None:
        return _tree(crf, tree, _find_label(crf, label), plot)
    if rules is not None:
        return _rules(crf, rules, None if label is None else _find_label(crf, label))
    from hedgerow.explain import importance

    shares = importance(crf, by)
    if plot is not None:
        from hedgerow.report import plot_importance

        plot_importance(shares, n=top, path=plot)
    return shares.table(top)


def _check_options(by: str | None, tree: int | None, rules: int | None, label: str | None, plot: str | None) -> None:
    """Refuse options that do not go together."""
    if tree is not None and rules is not None:
        raise InputError("--tree and --rules are two views", hint="Give one of them.")
    if tree is not None and label is None:
        raise InputError("--tree needs --label", hint="There is one tree for each label.")
    if label is not None and tree is None and rules is None:
        raise InputError("--label is for --tree and --rules")
    if by is not None and (tree is not None or rules is not None):
        raise InputError("--by is for the importance of features", hint="Leave out --tree and --rules.")
    if rules is not None and plot is not None:
        raise InputError("there is no picture of rules", hint="Leave out --plot.")


def _find_label(model: Any, text: str | None) -> Any:
    """The label that is written so; the text itself where there is none, for the error to name."""
    return next((label for label in model.schema_.labels if str(label) == text), text)


def _tree(model: Any, iteration: int, label: Any, plot: str | None) -> str:
    from hedgerow.explain import tree_text

    text = tree_text(model, iteration, label)
    n_members = model.ensemble_.trees_per_step
    if plot is not None:
        from hedgerow.report import plot_tree

        if n_members > 1:
            hint = "Draw one of them in Python, with plot_tree(..., member=...)."
            raise InputError(f"an iteration of this model has {n_members} trees for each label", hint=hint)
        plot_tree(model, iteration, label, path=plot)
    others = [tree_text(model, iteration, label, member) for member in range(2, n_members + 1)]
    return "\n\n".join([text, *others])


def _rules(model: Any, n: int, label: Any) -> str:
    from hedgerow.explain import rules
    from hedgerow.explain.fields import signed
    from hedgerow.explain.splits import note_of_gaps

    ranking = rules(model, n, label)
    width = max((len(str(rule.label)) for rule in ranking), default=0)
    lines = [f"{signed(rule.weight, 3):>8}  {rule.label!s:<{width}}  if {rule.when}" for rule in ranking]
    return "\n".join([*lines, *filter(None, [note_of_gaps(model)])])
