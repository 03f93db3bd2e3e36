"""Sphinx with MyST; `make docs` calls it. The pages are plain Markdown, which reads on any git host as well."""

import re

project, author, copyright = 'Tessera', 'the Tessera authors', 'the Tessera authors'
extensions = ['myst_parser', 'sphinx.ext.mathjax']
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 4
html_theme, html_title = 'furo', 'Tessera'
html_show_copyright = False


def adapt(app, docname, source):
    """What a git host shows well, for the site: a list of pages in a comment becomes its navigation, and links that
    leave docs/ become names of files."""
    source[0] = re.sub(r'<!-- toctree\n(.*?)-->', r'```{toctree}\n:hidden:\n:glob:\n\n\1```', source[0], flags=re.S)
    up = '../' * docname.count('/') + '../'
    source[0] = re.sub(r'\[([^]]*)\]\(%s((?!\.\.)[\w./-]+)(?:#[\w-]*)?\)' % re.escape(up), r'\1 (`\2`)', source[0])


def setup(app):
    app.connect('source-read', adapt)
