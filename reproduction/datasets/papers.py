"""Lines of whole scientific papers, each labelled by what it is part of (ParsCit's SectLabel data)."""

from __future__ import annotations

import os
import re

from hedgerow.errors import InputError
from reproduction.datasets.parscit import Document, read_documents

FILE = "sectLabel.tagged.txt"
_SECTION = re.compile(r"<SectLabel_(\w+)>(.*?)</SectLabel_\1>")
_LINE_MARK = "+L+"

# The 24 labels in six groups.
GROUPS = {
    "text": ("bodyText", "listItem", "construct", "equation", "none"),
    "heading": ("sectionHeader", "subsectionHeader", "subsubsectionHeader"),
    "front": ("title", "author", "affiliation", "address", "email", "category", "keyword"),
    "float": ("figure", "table", "figureCaption", "tableCaption"),
    "reference": ("reference",),
    "margin": ("page", "footnote", "copyright", "note"),
}
GROUP_OF = {label: group for group, labels in GROUPS.items() for label in labels}
# In four, as many as the lines of FAQs have: header, question, answer, tail.
PLACE_OF = {
    "front": "head",
    "heading": "heading",
    "text": "body",
    "float": "body",
    "margin": "body",
    "reference": "tail",
}


def load_paper_lines(folder: str | os.PathLike[str] | None = None) -> tuple[list[list[str]], list[list[str]]]:
    """The 40 papers as `lines, y`: a list of lines for each paper, 37,821 in all, and the label of each line.

    There are 24 labels: "title", "author", "bodyText", "sectionHeader", "equation", "figureCaption", "reference" and
    so on; two of three lines are "bodyText". A line is text as it came out of a page: white space at its ends is
    gone, a wide gap within it is a tab. `line_features` makes columns of it.

    `folder` holds sectLabel.tagged.txt. Without it, the folder parscit inside the one that the environment variable
    HEDGEROW_DATA names is read.
    """
    return read_documents(folder, FILE, _read_paper)


def _read_paper(paper: str, path: str, number: int) -> Document:
    """The lines of one paper, which is one line of the file, and their labels."""
    texts: list[str] = []
    labels: list[str] = []
    end = 0
    for section in _SECTION.finditer(paper):
        *own, rest = section[2].split(_LINE_MARK)
        between = paper[end : section.start()]
        if between.strip() or rest.strip() or not own:
            hint = f"A paper is <SectLabel_name> text {_LINE_MARK} text {_LINE_MARK} </SectLabel_name> and so on."
            raise InputError(f"has text outside a line, near {section[0][:40]!r}", hint=hint, path=path, line=number)
        end = section.end()
        texts += [text.strip() for text in own]
        labels += [section[1]] * len(own)
    if paper[end:].strip():
        raise InputError(f"has text outside a section: {paper[end:].strip()[:40]!r}", path=path, line=number)
    return texts, labels
