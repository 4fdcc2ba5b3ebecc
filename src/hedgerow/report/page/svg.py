"""Pictures as SVG text. Colours are classes of the page's style sheet, so that they follow light and dark."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup, escape

from hedgerow.legend import AnyArray, FloatArray

N_COLOURS = 8  # of labels in the style sheet
Points = Sequence[tuple[float, float]]
Place = tuple[float, float]

_WIDTH, _HEIGHT, _LOW = 420, 260, 150  # of a chart, and of a histogram
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 22, 12, 38
_COLUMNS = 700  # of a timeline: with more positions, several share one
_GRAPH = 460.0
_NAMES, _WIDE, _END = 92.0, 900.0, 16.0  # of a timeline: the room for names, the width, the room behind


def tag(name: str, kind: str, *inside: Markup, **attributes: object) -> Markup:
    """An element of a class. Numbers have one digit after the point, "_" in a name is "-", and text is escaped."""
    told = (f' {key.strip("_").replace("_", "-")}="{_attribute(value)}"' for key, value in attributes.items())
    begin = f'<{name} class="{escape(kind)}"{"".join(told)}'
    return Markup(f"{begin}>{''.join(inside)}</{name}>" if inside else f"{begin}/>")


def _attribute(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(escape(value))


def _picture(kind: str, width: float, height: float, title: str, parts: Sequence[Markup], role: str = "img") -> Markup:
    box = f"0 0 {width:.0f} {height:.0f}"
    return Markup(
        f'<svg class="{kind}" viewBox="{box}" role="{role}" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _line(a: Place, b: Place, kind: str) -> Markup:
    return tag("line", kind, x1=a[0], y1=a[1], x2=b[0], y2=b[1])


def _text(x: float, y: float, text: str, kind: str, **more: object) -> Markup:
    return tag("text", kind, escape(text), x=float(x), y=float(y), **more)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return tag("rect", kind, x=float(x), y=float(y), width=float(width), height=float(height))


def _number(value: float, percent: bool) -> str:
    return f"{100 * value:.3g} %" if percent else f"{value:.6g}"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, at most `most` + 1 of them."""
    span = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(m for m in (1, 2, 2.5, 5, 10) if span / (m * step) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(first * step + i * step, 12) for i in range(int((high - first * step) / step + 1e-9) + 1)]


def chart(
    series: Mapping[str, Points],
    title: str,
    x_name: str,
    y_name: str,
    *,
    x: Place | None = None,
    y: Place | None = None,
    percent: bool = False,
    diagonal: Place | None = None,
    sizes: Mapping[str, Sequence[float]] | None = None,
    mark: tuple[float, str] | None = None,
) -> Markup:
    """Lines over two axes. diagonal : y at both ends of a dashed line; sizes : of dots on the points, from 0 to 1;
    mark : an x with a line and its name"""
    points = [point for own in series.values() for point in own]
    x0, x1 = x or (min(p[0] for p in points), max(p[0] for p in points))
    y0, y1 = y or _padded(min(p[1] for p in points), max(p[1] for p in points))
    x1, y1 = (x1 if x1 > x0 else x0 + 1.0), (y1 if y1 > y0 else y0 + 1.0)

    def at(px: float, py: float) -> Place:
        across = _LEFT + (px - x0) / (x1 - x0) * (_WIDTH - _LEFT - _RIGHT)
        return across, _HEIGHT - _BOTTOM - (py - y0) / (y1 - y0) * (_HEIGHT - _TOP - _BOTTOM)

    parts: list[Markup] = []
    for value in ticks(y0, y1):
        a, b = at(x0, value), at(x1, value)
        parts += [_line(a, b, "grid"), _text(_LEFT - 6, a[1] + 4, _number(value, percent), "tick end")]
    for value in ticks(x0, x1):
        parts.append(_text(at(value, y0)[0], _HEIGHT - _BOTTOM + 16, _number(value, percent), "tick mid"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_name, "axis mid"))
    turned = f"translate(12 {(_TOP + _HEIGHT - _BOTTOM) // 2}) rotate(-90)"
    parts.append(_text(0, 0, y_name, "axis mid", transform=turned))
    if diagonal is not None:
        parts.append(_line(at(x0, diagonal[0]), at(x1, diagonal[1]), "dash"))
    if mark is not None:
        parts.append(_line(at(mark[0], y0), at(mark[0], y1), "dash"))
        parts.append(_text(at(mark[0], y1)[0] - 4, _HEIGHT - _BOTTOM - 6, mark[1], "tick end"))
    for c, (name, own) in enumerate(series.items()):
        places = [at(*point) for point in own]
        parts.append(tag("polyline", f"line k{c}", points=" ".join(f"{px:.1f},{py:.1f}" for px, py in places)))
        for (px, py), size in zip(places, sizes[name] if sizes is not None else ()):
            parts.append(tag("circle", f"dot k{c}", cx=px, cy=py, r=2.0 + 7.0 * math.sqrt(size)))
        if len(series) > 1:
            parts.append(_rect(_WIDTH - 150, _TOP + 4 + 16 * c, 10, 10, f"fill k{c}"))
            parts.append(_text(_WIDTH - 135, _TOP + 13 + 16 * c, name, "tick"))
    return _picture("chart", _WIDTH, _HEIGHT, title, parts)


def _padded(low: float, high: float) -> Place:
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def bars(counts: Sequence[tuple[float, float, int]], title: str, x_name: str) -> Markup:
    """A histogram of (low, high, how many)."""
    low, high = counts[0][0], counts[-1][1]
    top = max(n for _, _, n in counts) or 1
    scale, tall = (_WIDTH - _LEFT - _RIGHT) / (high - low), (_LOW - _BOTTOM - _TOP) / top
    parts: list[Markup] = []
    for value in ticks(0, top, 3):
        y = _LOW - _BOTTOM - value * tall
        parts += [_line((_LEFT, y), (_WIDTH - _RIGHT, y), "grid"), _text(_LEFT - 6, y + 4, f"{value:g}", "tick end")]
    for a, b, n in counts:
        width = max((b - a) * scale - 1, 0.5)
        parts.append(_rect(_LEFT + (a - low) * scale + 0.5, _LOW - _BOTTOM - n * tall, width, n * tall, "fill k0"))
    for value in ticks(low, high):
        parts.append(_text(_LEFT + (value - low) * scale, _LOW - _BOTTOM + 15, f"{value:g}", "tick mid"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _LOW - 4, x_name, "axis mid"))
    return _picture("chart", _WIDTH, _LOW, title, parts)


def dots(
    rows: Sequence[tuple[str, float, Place | None, Sequence[float], bool]],
    title: str,
    *,
    percent: bool = False,
    powers: bool = False,
    written: Sequence[str] = (),
) -> Markup:
    """A row for each name: a dot, an interval around it, small dots, and whether it is marked.

    powers : values are logarithms, and the axis names what they are of; written : what stands beside the dots
    """
    values = [v for _, value, around, small, _ in rows for v in (value, *(around or ()), *small)]
    low, high = (
        (math.floor(min(values)), math.ceil(max(values) + 1e-9)) if powers else _padded(min(values), max(values))
    )
    left = 30.0 + 7.0 * min(max(len(name) for name, *_ in rows), 22)
    height = 26 * len(rows) + 34
    scale = (_WIDTH - left - _RIGHT - (56 if written else 0)) / ((high - low) or 1.0)
    parts = []
    for value in range(int(low), int(high) + 1) if powers else ticks(low, high, 4):
        x = left + (value - low) * scale
        parts.append(_line((x, 4), (x, height - 24), "grid"))
        parts.append(_text(x, height - 8, f"{10.0**value:g}" if powers else _number(value, percent), "tick mid"))
    for r, (name, value, around, small, marked) in enumerate(rows):
        y, kind = 18.0 + 26 * r, "k1" if marked else "k0"
        parts.append(_text(left - 12, y + 4, name if len(name) <= 22 else f"{name[:21]}…", "tick end"))
        if around is not None:
            parts.append(
                _line((left + (around[0] - low) * scale, y), (left + (around[1] - low) * scale, y), f"line {kind}")
            )
        parts += [tag("circle", "fold", cx=left + (one - low) * scale, cy=y, r=2.5) for one in small]
        parts.append(tag("circle", f"fill {kind}", cx=left + (value - low) * scale, cy=y, r=5))
        if written:
            parts.append(_text(left + (value - low) * scale + 10, y + 4, written[r], "tick"))
    return _picture("chart", _WIDTH, height, title, parts)


def graph(names: Sequence[str], moves: FloatArray, frequency: Sequence[float], least: float = 0.05) -> Markup:
    """Labels on a circle, and arrows between them, as thick as they are probable."""
    n, middle = len(names), _GRAPH / 2
    angles = [2 * math.pi * i / n - math.pi / (1 if n == 2 else 2) for i in range(n)]
    at = [(middle + (middle - 62) * math.cos(a), middle + (middle - 62) * math.sin(a)) for a in angles]
    radii = [13 + 15 * math.sqrt(share) for share in frequency]
    shape = tag("path", "tip", d="M0 0L8 4L0 8z")
    size = {"viewBox": "0 0 8 8", "refX": 7, "refY": 4, "markerWidth": 7, "markerHeight": 7}
    tip = tag("marker", "", shape, id="tip", markerUnits="userSpaceOnUse", orient="auto", **size)
    parts = [Markup(f"<defs>{tip}</defs>")]
    for i, j in np.argwhere(moves >= least).tolist():
        width = 0.6 + 4.4 * float(moves[i, j])
        told = Markup(f"<title>{escape(names[i])} → {escape(names[j])}: {moves[i, j]:.0%}</title>")
        if i == j:
            away = radii[i] + 7
            x, y = at[i][0] + away * math.cos(angles[i]), at[i][1] + away * math.sin(angles[i])
            parts.append(tag("circle", "move", told, cx=x, cy=y, r=9, stroke_width=width))
        else:
            way = _bent(at[i], at[j], radii[i], radii[j])
            parts.append(tag("path", "move", told, d=way, stroke_width=width, marker_end="url(#tip)"))
    for (x, y), r, name in zip(at, radii, names):
        parts.append(tag("circle", "node", cx=x, cy=y, r=r))
        parts.append(_text(x, y + 4, name if len(name) <= 9 else f"{name[:8]}…", "name mid"))
    return _picture("chart graph", _GRAPH, _GRAPH, "Which labels follow which", parts)


def _bent(a: Place, b: Place, from_a: float, from_b: float) -> str:
    """The SVG path of a curve from the rim of a circle at a to the rim of one at b."""
    long = math.dist(a, b)
    ux, uy = (b[0] - a[0]) / long, (b[1] - a[1]) / long
    xa, ya, xb, yb = a[0] + from_a * ux, a[1] + from_a * uy, b[0] - from_b * ux, b[1] - from_b * uy
    cx, cy = (xa + xb) / 2 - 0.14 * long * uy, (ya + yb) / 2 + 0.14 * long * ux
    return f"M{xa:.1f} {ya:.1f}Q{cx:.1f} {cy:.1f} {xb:.1f} {yb:.1f}"


def timeline(
    lines: Mapping[str, FloatArray],
    bands: Mapping[str, AnyArray],
    confidence: FloatArray | None,
    wrong: AnyArray,
    marks: Sequence[tuple[int, str, str]],
    title: str,
) -> Markup:
    """A sequence of numbers: lines, how sure the model is, true and predicted labels as bands, errors, and places that
    can be asked about: (position, address, text).

    bands : name → the colour of the label at each position, −1 for none
    """
    n = len(wrong)
    edges = np.linspace(0, n, min(n, _COLUMNS) + 1).round().astype(np.int64)
    scale, top, parts = (_WIDE - _NAMES - _END) / n, 6.0, []
    for name, values in lines.items():
        parts += [_text(_NAMES - 8, top + 32, name[:14], "tick end"), *_number_line(values, edges, scale, top)]
        top += 62
    if confidence is not None:
        low = np.minimum.reduceat(confidence, edges[:-1]).tolist()
        steps = zip(pairwise(edges.tolist()), low)
        way = " ".join(
            f"L{_NAMES + e * scale:.1f} {top + 26 * (1 - p):.1f}H{_NAMES + f * scale:.1f}" for (e, f), p in steps
        )
        shape = tag("path", "sure", d=f"M{_NAMES:.1f} {top + 26:.1f}{way}V{top + 26:.1f}z")
        parts += [_text(_NAMES - 8, top + 18, "how sure", "tick end"), shape]
        top += 34
    for name, colours in bands.items():
        parts.append(_text(_NAMES - 8, top + 13, name, "tick end"))
        for a, b in _runs(colours):
            if colours[a] >= 0:
                kind = f"fill c{int(colours[a]) % N_COLOURS}"
                parts.append(_rect(_NAMES + a * scale, top, max((b - a) * scale, 0.6), 16, kind))
        top += 22
    if wrong.any():
        parts.append(_text(_NAMES - 8, top + 9, "wrong", "tick end"))
        places = ((_NAMES + a * scale, max((b - a) * scale, 1.5)) for a, b in _runs(wrong) if wrong[a])
        parts += [_rect(left, top + 2, wide, 6, "bad") for left, wide in places]
        top += 12
    for t, address, text in marks:
        x = _NAMES + (t + 0.5) * scale
        inside = _rect(x - 12, top, 24, 24, "field"), tag("path", "mark", d=f"M{x:.1f} {top:.1f}l5 7h-10z")
        parts.append(
            tag("a", "ask", *inside, Markup(f"<title>{escape(text)}</title>"), href=f"#{address}", aria_label=text)
        )
    top += 28 if marks else 4
    parts += [_text(_NAMES + value * scale, top + 10, f"{value:g}", "tick mid") for value in ticks(0, n, 8)]
    return _picture("timeline", _WIDE, top + 16, title, parts, "group")


def _number_line(values: FloatArray, edges: AnyArray, scale: float, top: float) -> list[Markup]:
    """A line, broken where a number is missing; where positions share columns, their range."""
    seen = values[np.isfinite(values)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    tall = 48 / ((high - low) or 1.0)
    ranges = zip(*(f.reduceat(values, edges[:-1]).tolist() for f in (np.minimum, np.maximum)))
    way, pen = [], "M"
    for (e, f), (a, b) in zip(pairwise(edges.tolist()), ranges):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen = "M"
            continue
        x, ya, yb = _NAMES + (e + f) / 2 * scale, top + 54 - tall * (a - low), top + 54 - tall * (b - low)
        way.append(f"{pen}{x:.1f} {ya:.1f}" + (f"V{yb:.1f}" if a != b else ""))
        pen = "L"
    told = _text(_NAMES - 8, top + 46, f"{low:.3g} … {high:.3g}", "tick end pale")
    return [told, tag("path", "number", d="".join(way))]


def _runs(values: AnyArray) -> list[tuple[int, int]]:
    """Begin and end of each run of equal values."""
    changes = 1 + np.flatnonzero(values[1:] != values[:-1])
    return list(pairwise([0, *changes.tolist(), len(values)]))


def png(pixels: AnyArray) -> str:
    """An image (H, W, 3) of bytes as the address of a PNG file that is written out in it."""
    rows = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width, _ = rows.shape
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows.reshape(height, -1)], axis=1).tobytes()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    file = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(file).decode("ascii")
