"""`hedgerow tag --stream`: lines in, each with its label out as soon as that can be told."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from hedgerow.cli.inputs import Input, load_chain
from hedgerow.cli.recipe import Recipe, labelled, recipe_of
from hedgerow.data.readers.table_files import TextTable
from hedgerow.errors import InputError, placed, shown

_FORMATS = ("conll", "csv", "tsv")


class _Piece(Input):
    """Some lines of an input, which are read as an input of their own."""

    def __init__(self, path: str, name: str, content: bytes = b"") -> None:
        self.path, self.name, self.content = path, name, content


def tag_lines(
    model: str, path: str, lines: Iterable[bytes], *, lag: int = 0, probabilities: bool = False,
    format: str | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """What each line lets one say: lines with their labels, or nothing as yet. The parameters are the options of the
    command; `path` is where the lines come from."""
    crf = load_chain(model)
    if not hasattr(crf, "stream"):
        hint = "Leave --stream out, or tag with another model."
        raise InputError(f"{type(crf).__name__} labels whole sequences", hint=hint, path=model)
    source = _Piece(path, Input.name_of(path))
    recipe = recipe_of(crf, source, format)
    if recipe.format not in _FORMATS or recipe.template is not None:
        what = "a template" if recipe.format in _FORMATS else f"a line of the format {recipe.format}"
        raise InputError(f"{what} wants whole sequences", path=source.name, hint="Leave --stream out.")
    if recipe.max_gap is not None or recipe.time_columns:
        what = "the model was trained with --max-gap or --time-columns, which ask for the row before"
        raise InputError(what, path=source.name, hint="Leave --stream out.")
    tagger = (_Columns if recipe.format == "conll" else _Table)(crf, source, recipe, lag, probabilities)
    for number, line in enumerate(lines, start=1):
        try:
            yield from tagger.take(line if line.endswith(b"\n") else line + b"\n")
        except InputError as error:
            raise placed(error, path=source.name, line=number, sequence=None, position=None) from None
    yield from tagger.finish()


class _Tagger:
    """Lines that wait for their labels. A subclass says where a sequence ends."""

    def __init__(self, model: Any, source: Input, recipe: Recipe, lag: int, probabilities: bool) -> None:
        self.source, self.recipe, self.probabilities = source, recipe, probabilities
        self.labels, self.stream = model.classes_.tolist(), model.stream(lag)
        self.header = b""
        self.waiting: deque[_Piece] = deque()

    def take(self, line: bytes) -> Iterator[bytes]:
        raise NotImplementedError

    def push(self, line: bytes) -> Iterator[bytes]:
        piece = _Piece(self.source.path, self.source.name, self.header + line)
        X, _ = self.recipe.read(piece)
        told = self.stream.push(X[0][0])
        self.waiting.append(piece)
        yield from self.told(told)

    def finish(self) -> Iterator[bytes]:
        """The sequence has ended."""
        yield from self.told(self.stream.finish())

    def told(self, rows: Any) -> Iterator[bytes]:
        for probs in rows:
            best = int(probs.argmax())
            columns = {"predicted": [[self.labels[best]]]}
            if self.probabilities:
                columns["probability"] = [[round(float(probs[best]), 4)]]
            content = labelled(self.waiting.popleft(), self.recipe, columns, None)
            yield content.split(b"\n", 1)[1] if self.header else content


class _Columns(_Tagger):
    """CoNLL: a blank line ends a sequence."""

    def take(self, line: bytes) -> Iterator[bytes]:
        if line.strip() and not line.startswith(b"-DOCSTART-"):
            yield from self.push(line)
        else:
            yield from self.finish()
            yield line


class _Table(_Tagger):
    """CSV and TSV: a sequence ends where the columns that tell sequences apart change."""

    key: list[str | None] | None = None

    def take(self, line: bytes) -> Iterator[bytes]:
        if not self.header:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self.header = line
            gap = b"," if self.recipe.format == "csv" else b"\t"
            names = [b"predicted", b"probability"] if self.probabilities else [b"predicted"]
            yield gap.join([line.rstrip(b"\r\n"), *names]) + b"\n"
        elif line.strip():
            rows = [text.decode(self.recipe.encoding, "replace").rstrip("\r\n") for text in (self.header, line)]
            table = TextTable(self.source.name, rows, self.recipe.format)  # type: ignore[arg-type]
            missing = [name for name in self.recipe.by if name not in table.names]
            if missing:
                hint = f"Columns are {shown(table.names)}."
                raise InputError(f"there is no column {missing[0]!r}", path=self.source.name, hint=hint)
            key = [table.values(name)[0] for name in self.recipe.by]
            if key != self.key:
                yield from self.finish()
            self.key = key
            yield from self.push(line)
