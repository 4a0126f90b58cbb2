"""What a docstring says, in Google, NumPy, reST or Epydoc style."""

from __future__ import annotations

import inspect

from docstring_parser import Docstring, ParseError, parse

__all__ = ["parameter_texts", "summary"]


def summary(docstring: str | None) -> str | None:
    """Return the first paragraph as one line, ``None`` where there is none."""
    if not docstring or not docstring.strip():
        return None
    return " ".join(inspect.cleandoc(docstring).split("\n\n")[0].split()) or None


def parameter_texts(docstring: str | None) -> dict[str, str]:
    """Return the descriptions of parameters or attributes by their names."""
    parsed = _parsed(docstring)
    return {
        param.arg_name: " ".join(param.description.split())
        for param in parsed.params
        if param.description
    }


def _parsed(docstring: str | None) -> Docstring:
    try:
        return parse(docstring or "")
    except ParseError:  # a docstring is for people first; odd ones are no error
        return Docstring()
