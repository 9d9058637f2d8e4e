"""How Sphinx builds the pages: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Muniment"
author = "The Muniment authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference"]
exclude_patterns = ["site"]
html_theme = "furo"
html_title = "Muniment"
html_show_sourcelink = False
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
