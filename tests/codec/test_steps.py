"""The language of declarations: what is written comes back, and what is not as declared is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import ModelFileError
from hedgerow.estimators.codec.arrays import Array, Ragged, pointers
from hedgerow.estimators.codec.parts import Each, Part, Record, made_by, pack, unpack
from hedgerow.estimators.codec.steps import Allocates, Check, Let, Scope, refuse
from hedgerow.estimators.codec.values import anything, choice, count, flag, mapping, real, text, texts, whole

INNER = Record((Array("rows", np.int64, ("n", "K"), points_into="total"), text("name")), made_by(dict, "rows", "name"))


def no_negative_sum(scope: Scope) -> None:
    if scope["slots"].sum() < 0:
        refuse("the sum is negative")


OUTER = Record(
    (
        whole("K", low=1, high=9),
        Array("slots", np.int32, ("W",), low=-1, high=5),
        pointers("ptr", "R", "W"),
        Let("total", lambda scope: scope["K"] * 10),
        Part("inner", INNER),
        Part("other", INNER, optional=True),
        Each("each", INNER),
        Ragged("lists", "R", Array("lists", np.float64, ("all",))),
        flag("more"),
        Array("extra", np.float64, ("K+1",), when=lambda scope: scope["more"]),
        Check(no_negative_sum),
    ),
    lambda scope: SimpleNamespace(**{n: scope[n] for n in ("K", "slots", "ptr", "inner", "other", "each", "lists")}),
)


def inner(n: int = 2) -> Any:
    return SimpleNamespace(rows=np.arange(3 * n, dtype=np.int64).reshape(n, 3), name="x")


def outer() -> Any:
    return SimpleNamespace(
        K=3,
        slots=np.array([1, 5, -1, 0], dtype=np.int32),
        ptr=np.array([0, 3, 3, 4]),
        inner=inner(),
        other=None,
        each=[inner(1), inner(4)],
        lists=[np.array([1.0, 2.0]), None, np.array([3.0])],
        more=True,
        extra=np.zeros(4),
    )


def test_what_is_packed_comes_back():
    header, tensors = pack(OUTER, outer())
    assert sorted(tensors) == [
        "each.0.rows", "each.1.rows", "extra", "inner.rows", "lists", "lists_ptr", "ptr", "slots",
    ]  # fmt: skip
    assert header == {"K": 3, "inner": {"name": "x"}, "each": [{"name": "x"}, {"name": "x"}], "more": True}
    back = unpack(OUTER, header, tensors)
    assert (back.K, back.other, len(back.each)) == (3, None, 2)
    np.testing.assert_array_equal(back.each[1]["rows"], inner(4).rows)
    assert [own.tolist() for own in back.lists] == [[1.0, 2.0], [], [3.0]]
    assert set(tensors) == set(pack(OUTER, outer())[1])  # reading leaves the caller's tensors as they are


def change(name: str, place: Any, value: Any) -> Any:
    def work(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name].copy()
        tensors[name][place] = value

    return work


WRONG: dict[str, tuple[Any, str]] = {
    "a value too low": (change("slots", 0, -2), "slots holds values from -2 to 5"),
    "a value too high": (change("slots", 0, 6), "outside of -1 to 5"),
    "an index beyond": (change("inner.rows", (0, 0), 30), r"inner\.rows holds values"),
    "a negative index": (change("each.1.rows", (3, 2), -1), r"each\.1\.rows holds values"),
    "a check that fails": (change("slots", slice(None), -1), "the sum is negative"),
    "pointers that fall": (change("ptr", 1, 4), "ptr does not rise"),
    "pointers that begin late": (change("ptr", 0, 1), "ptr does not run"),
    "pointers that end early": (change("ptr", 3, 3), "ptr does not run"),
    "pointers that wrap": (change("ptr", slice(1, 3), (2**63 - 1, -(2**63))), "ptr does not rise"),
    "what is not a number": (change("lists", 0, np.nan), "lists holds what is not a number"),
    "what is not finite": (change("extra", 0, np.inf), "extra holds what is not finite"),
    "lists too many": (lambda h, t: t.update(lists_ptr=np.array([0, 3])), "lists_ptr is int64 of shape"),
    "another type": (lambda h, t: t.update(slots=t["slots"].astype(np.int64)), "slots is int64 of shape"),
    "another shape": (lambda h, t: t.update(extra=np.zeros(3)), r"extra is float64 of shape \(3,\)"),
    "another number of dimensions": (lambda h, t: t.update(extra=np.zeros((4, 1))), "extra is float64"),
    "no tensor": (lambda h, t: t.pop("inner.rows"), r"there is no 'inner\.rows'"),
    "a tensor too many": (lambda h, t: t.update(odd=np.zeros(1)), "there is 'odd', which has no place here"),
    "no value": (lambda h, t: h.pop("K"), "there is no 'K'"),
    "a value too many": (lambda h, t: h["inner"].update(odd=1), r"there is 'inner\.odd', which has no place here"),
    "no part": (lambda h, t: h.pop("inner"), "there is no 'inner'"),
    "a part that is none": (lambda h, t: h.update(inner=[1]), "inner is"),
    "a list that is none": (lambda h, t: h.update(each={}), "each is no list"),
    "what should not be there": (lambda h, t: h.update(more=False), "there is 'extra', which has no place here"),
    "a part without its tensors": (lambda h, t: h.update(other={"name": "y"}), r"there is no 'other\.rows'"),
    "a number that is none": (lambda h, t: h.update(K=True), "K is True; it must be a whole number from 1 to 9"),
    "a number too high": (lambda h, t: h.update(K=10), "K is 10"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_as_declared(name):
    header, tensors = pack(OUTER, outer())
    spoil, match = WRONG[name]
    spoil(header, tensors)
    with pytest.raises(ModelFileError, match=match):
        unpack(OUTER, header, tensors)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (flag("x"), [True, False], [0, None, "true"]),
        (whole("x", low=-2, high=2), [-2, 2], [-3, 3, 1.0, True, "1", None]),
        (whole("x", points_into="n_bytes"), [0, 99], [-1, 100]),
        (count("x", low=1, each=10), [1, 10], [0, 11, 10**30]),
        (real("x", above=0.0), [5e-324, 1e308], [0.0, -1.0, float("nan"), float("inf"), 1, None]),
        (choice("x", ("a", "b")), ["a", "b"], ["c", ["a"], None]),
        (text("x"), ["", "é"], [None, 1, ["a"]]),
        (text("x", nullable=True), ["", None], [1]),
        (texts("x"), [["a"]], [["a", 1], "a", {"a": 1}]),
        (mapping("x", lambda given, scope: "a" in given), [{"a": 1}], [{}, [], "a"]),
        (anything("x"), [None, {"a": 1}, "x"], []),
    ],
)
def test_values(field, good, bad):
    record = Record((field,), lambda scope: scope["x"])
    for value in good:
        found = unpack(record, {"x": value}, {}, n_bytes=100)
        assert found == value or list(found) == value
        assert pack(record, SimpleNamespace(x=value)) == ({"x": value}, {})
    for value in bad:
        with pytest.raises(ModelFileError, match="x is"):
            unpack(record, {"x": value}, {}, n_bytes=100)


def test_lists_become_tuples():
    record = Record((anything("x"), texts("y")), lambda scope: (scope["x"], scope["y"]))
    assert unpack(record, {"x": [1, {"a": [2, [3]]}], "y": ["a"]}, {}) == ((1, {"a": (2, (3,))}), ("a",))


def test_what_would_be_too_large_is_not_made():
    made = []
    record = Record(
        (whole("n"), Allocates("a table", lambda scope: scope["n"] ** 2), Let("table", lambda scope: made.append(1))),
        lambda scope: None,
    )
    unpack(record, {"n": 1000}, {})
    with pytest.raises(ModelFileError, match="a table would take 10,000,000,000 bytes"):
        unpack(record, {"n": 100_000}, {})
    assert made == [1]


def test_sizes_of_one_part_are_not_those_of_another():
    record = Record((Array("rows", np.int64, ("n",)),), made_by(dict, "rows"))
    outer_record = Record((Array("own", np.int64, ("n",)), Part("inner", record)), lambda scope: scope.size("n"))
    tensors = {"own": np.zeros(2, np.int64), "inner.rows": np.zeros(5, np.int64)}
    assert unpack(outer_record, {"inner": {}}, tensors) == 2
