"""What a model that ranks labelings is without."""

from __future__ import annotations

from typing import NoReturn

from hedgerow.errors import InputError


class NoProbabilities(InputError, AttributeError):
    """A search ranks labelings. An AttributeError, so that hasattr tells."""


class NotThere:
    """In the place of a method of models with probabilities."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object, owner: type) -> NoReturn:
        what = f"a {owner.__name__} ranks labelings: it knows no probabilities and has no {self.name}"
        raise NoProbabilities(what, hint="Use predict, or a LinearCRF.")
