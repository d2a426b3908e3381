"""Strict JSON, the three canonical forms, and the hashes over them (docs/formats/canonical-json.md)."""

import hashlib
import json
import re
from decimal import Decimal

DEEPEST = 512  # brackets open at once
HASH = re.compile(r"sha256:[0-9a-f]{64}\Z")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class NotJson(ValueError):
    """The text is not one strict JSON document."""


class NoForm(ValueError):
    """The value has no canonical form."""


class Number:
    """A number as it was written."""

    __slots__ = ("text", "value")

    def __init__(self, text):
        self.text = text
        self.value = float(text)

    @property
    def is_written_as_integer(self):
        return not any(mark in self.text for mark in ".eE")

    @property
    def integer(self):
        """The value, if it has no fraction, however it is spelled: `5.0e1` is 50."""
        if self.value in (float("inf"), float("-inf")):
            return int(self.text) if self.is_written_as_integer else None
        return int(self.value) if self.value == int(self.value) else None


def _members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotJson("a name occurs twice")
    return found


def _constant(name):
    raise NotJson(f"{name} is not JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=Number, parse_float=Number, parse_constant=_constant
)
_outside_strings = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def parse(data):
    """The one document in `data`: dict, list, str (which may hold lone surrogates), Number, bool or None."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson("it is not UTF-8") from error
    depth = 0
    for token in _outside_strings.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise NotJson("too many brackets are open")
    try:
        value, end = _decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    if text[end:].strip(" \t\r\n"):
        raise NotJson("something follows the document")
    return value


def utf16(text):
    """The key by which texts are ordered by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def lossy(text):
    """The text with U+FFFD for each lone surrogate."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def has_surrogate(text):
    return re.search("[\ud800-\udfff]", text) is not None


_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
_escaped = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')


def quote(text):
    """A string as the `kernel` and `jcs` dialects write it."""
    escape = lambda found: _SHORT.get(ord(found[0]), f"\\u{ord(found[0]):04x}")
    return f'"{_escaped.sub(escape, text)}"'


def ecmascript_number(number):
    if number.value in (float("inf"), float("-inf")):
        raise NoForm("the number is beyond the range of a double")
    if number.value == 0:
        return "0"
    _, digits, exponent = Decimal(repr(abs(number.value))).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent
    sign = "-" if number.value < 0 else ""
    if 0 < point <= 21:
        whole = digits[:point].ljust(point, "0")
        return sign + whole + ("." + digits[point:] if point < len(digits) else "")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def python_number(number):
    if number.is_written_as_integer:
        return "0" if number.text == "-0" else number.text
    if number.value in (float("inf"), float("-inf")):
        raise NoForm("the number is beyond the range of a double")
    return repr(number.value)


def canonical(value, dialect="kernel"):
    """The canonical text of a value in the dialect `kernel`, `job` or `jcs`."""
    if isinstance(value, dict):
        names = sorted(value) if dialect == "job" else sorted(value, key=utf16)
        inside = (canonical(name, dialect) + ":" + canonical(value[name], dialect) for name in names)
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item, dialect) for item in value) + "]"
    if isinstance(value, str):
        if dialect == "jcs" and has_surrogate(value):
            raise NoForm("a lone surrogate")
        return json.dumps(value) if dialect == "job" else quote(value)
    if isinstance(value, Number):
        return python_number(value) if dialect == "job" else ecmascript_number(value)
    return {None: "null", True: "true", False: "false"}[value]


def form(value, dialect="kernel"):
    """The canonical text, or None where there is none; to compare values."""
    try:
        return canonical(value, dialect)
    except NoForm:
        return None


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def content_hash(data):
    return "sha256:" + sha256(data)


def canonical_hash(value):
    """Bare SHA-256 over the kernel dialect's text and one LF; None without a canonical form."""
    text = form(value)
    return None if text is None else sha256(text.encode() + b"\n")


def derive_id(prefix, value, digits=16):
    """`prefix` and the first digits of the canonical hash; None without a canonical form."""
    digest = canonical_hash(value)
    return None if digest is None else prefix + digest[:digits]
