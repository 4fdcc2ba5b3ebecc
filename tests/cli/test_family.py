"""hedgerow train, tag and info with the models that classify rows: sw, rsw and memm."""

from __future__ import annotations

import pytest

from hedgerow import MEMM, load
from hedgerow.data.readers import read_conll
from tests.models.local_models import local

from .conftest import N_POSITIONS


@pytest.mark.parametrize(
    ("options", "sees"),
    [
        (("--model", "sw", "--set", "estimator=linear"), (0, False)),
        (("--model", "sw", "--trees", "5", "--leaves", "4", "--dev", "0"), (0, False)),
        (("--model", "rsw", "--set", "estimator=linear", "--set", "direction=right_to_left"), (1, True)),
        (("--model", "rsw", "--trees", "5", "--order", "2", "--dev", "0", "--l2-regularization", "1"), (2, False)),
        (("--model", "memm", "--l2", "0.01", "--order", "2"), (2, False)),
        (("--model", "memm", "--set", "estimator=trees", "--trees", "5", "--dev", "0"), (1, False)),
    ],
    ids=["sw linear", "sw trees", "rsw linear", "rsw trees", "memm linear", "memm trees"],
)
def test_train_tag_and_info(hedgerow, folder, options, sees):
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", *options)
    assert done.code == 0, done.err
    facts = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert facts["positions"] == str(N_POSITIONS)
    assert int(facts["parameters"].replace(",", "")) > 0
    model = load("m.hedgerow")
    assert (model.order_, model.backward_) == sees
    tagged = hedgerow("tag", "m.hedgerow", "train.txt")
    assert tagged.code == 0, tagged.err
    assert len(tagged.out.split()) > N_POSITIONS
    shown = hedgerow("info", "m.hedgerow")
    assert f"{type(model).__name__}, {model.n_parameters_:,} parameters" in shown.out


def test_the_model_is_that_of_python(hedgerow, folder):
    hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", "memm", "--window", "1", "--l2", "0.5", "--dev", "0")
    X, y = read_conll("train.txt")
    expected = local(MEMM, window=1, l2=0.5).fit(X, y)
    assert load("m.hedgerow").log_probability(X, y).tolist() == expected.log_probability(X, y).tolist()


def test_options_of_other_models_are_refused(hedgerow, folder):
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", "sw", "--order", "2")
    assert done.code != 0
    assert "--order is for --model" in done.err
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", "memm", "--set", "estimator=tree")
    assert "estimator is 'tree'" in done.err
