"""A component for spaCy's pipelines that labels tokens with a hedgerow model: `nlp.add_pipe("hedgerow", …)`.

Importing this module registers the factory; an installed hedgerow tells spaCy where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.estimators.files import load
from hedgerow.metrics.spans import spans

try:
    import spacy.util
    from spacy.language import Language
    from spacy.tokens import Span
except ImportError:
    raise MissingExtraError("spaCy", "spacy", "the component of a pipeline") from None

__all__ = ["Labels", "make_component"]

_FILE = "model.hedgerow"


class Labels:
    """Sets what a model says of the tokens of a Doc.

    model : a fitted model of tokens, or None where `from_disk` is to read it
    sets : "ents" (labels such as B-PER become entities), or an attribute of tokens: "tag", "pos", "lemma"
    """

    def __init__(self, model: Any, sets: str = "ents") -> None:
        self.model, self.sets = model, sets

    def __call__(self, doc: Any) -> Any:
        return next(self._labelled([doc]))

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 256) -> Iterator[Any]:
        """Label Docs, some hundred at a time."""
        for docs in spacy.util.minibatch(stream, size=batch_size):  # type: ignore[no-untyped-call]
            yield from self._labelled(list(docs))

    def _labelled(self, docs: list[Any]) -> Iterator[Any]:
        if self.model is None:
            raise InputError("the component has no model", hint='Give config={"model": "file"} to add_pipe.')
        filled = [[token.text for token in doc] for doc in docs if len(doc)]
        found = iter(self.model.predict(filled) if filled else ())
        for doc in docs:
            if len(doc):
                self._set(doc, next(found))
            yield doc

    def _set(self, doc: Any, labels: list[Any]) -> None:
        if self.sets == "ents":
            doc.set_ents([Span(doc, one.start, one.end, label=one.type) for one in spans(labels)])
            return
        for token, label in zip(doc, labels):
            setattr(token, f"{self.sets}_", str(label))

    def to_disk(self, path: str | os.PathLike[str], **_: Any) -> None:
        """Write the model into a folder, as `nlp.to_disk` asks."""
        Path(path).mkdir(parents=True, exist_ok=True)
        if self.model is not None:
            self.model.save(Path(path) / _FILE)

    def from_disk(self, path: str | os.PathLike[str], **_: Any) -> Labels:
        """Read what `to_disk` wrote."""
        if (Path(path) / _FILE).exists():
            self.model = load(Path(path) / _FILE)
        return self


@Language.factory("hedgerow", default_config={"model": None, "sets": "ents"})
def make_component(nlp: Any, name: str, model: str | None, sets: str) -> Labels:
    """The component. model : a file of `hedgerow.save`; sets : as in `Labels`"""
    return Labels(None if model is None or not os.path.exists(model) else load(model), sets)
