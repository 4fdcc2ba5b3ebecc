"""The documentation site: the pages of docs/ as they are, a reference from the docstrings, a gallery from examples/.

`make site` copies this folder, docs/ and a few pages of the root into one, builds that, and leaves the pages in site/.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import hedgerow

# This file is read from build/site, where everything was copied together.
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import docstrings  # noqa: E402  lies beside this file

project = "hedgerow"
author = "the hedgerow maintainers"
release = version = hedgerow.__version__
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
nitpicky = False
default_role = "literal"  # a word in backticks is code, in docstrings as in Markdown
pygments_style = "friendly"

# Pages
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links to headings are those of GitHub
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

# Reference
autosummary_generate = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # signatures are long enough, and the docstrings say what goes in
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("scraper.figures",),
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "copyfile_regex": "",
}

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "hedgerow"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["hedgerow.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "logo": {"text": "hedgerow"},
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "changelog": []}


def as_site(app: object, name: str, source: list[str]) -> None:
    """In the repository pages lie in docs/ or in the root; here all of them lie in one folder."""
    text = source[0].replace("](../README.md)", "](index.md)")
    source[0] = re.sub(r"\]\((?:\.\./|docs/)([\w-]+\.md|images/)", r"](\1", text)


def without_requests(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """scikit-learn's methods of metadata routing are described there."""
    return True if re.fullmatch("get_metadata_routing|set_[a-z_]+_request", name) else None


def short_signature(app: object, what: str, name: str, obj: object, options: object, signature: str, returned: str):
    """Dozens of parameters tell nothing at a glance; they are listed below the signature, with their defaults."""
    return ("(…)", returned) if what == "class" and len(signature or "") > 300 else None


def setup(app: object) -> None:
    app.connect("source-read", as_site)  # type: ignore[attr-defined]
    app.connect("autodoc-skip-member", without_requests)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)  # before Napoleon
