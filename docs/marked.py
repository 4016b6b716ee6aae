"""Text of a guide between two marks, which a script makes."""

import re


def put(text: str, found: str, mark: str) -> str:
    """The guide with ``found`` between ``<!-- mark -->`` and ``<!-- /mark -->``."""
    return re.sub(rf"(?s)(<!-- {mark} -->\n).*(<!-- /{mark} -->)", lambda match: match[1] + found + match[2], text)
