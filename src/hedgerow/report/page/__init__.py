"""The report: a module for each of its sections, which makes plain data; `svg.py` and `render.py` make a page of it, by
the templates in `assets/`."""

from hedgerow.report.page.report import Report, make_report

__all__ = ["Report", "make_report"]
