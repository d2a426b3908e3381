"""Findings, and what several formats say about a value: texts, hashes, counts, paths, times."""

import datetime
import re

from canonical import DIGEST, HASH, Number, lossy, utf16

DOCUMENT, INTEGRITY, FORM = 0, 1, 2
SPACE = "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
LARGEST = 2**53 - 1  # that a double tells from its neighbours


class Findings:
    """The set of (rule_id, path) that a verdict consists of."""

    def __init__(self, level):
        self.level = level
        self.found = set()

    def add(self, rule, path=None):
        self.found.add((rule, None if path is None else lossy(path)))

    def require(self, holds, rule, path=None):
        if not holds:
            self.add(rule, path)

    @property
    def integrity(self):
        return self.level >= INTEGRITY

    @property
    def form(self):
        return self.level >= FORM


def get(value, *names):
    """The member at the end of `names`; None if there is none. (A null cannot be told from that: use `in`.)"""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def has(value, name):
    return isinstance(value, dict) and name in value


def items(value, *names):
    found = get(value, *names)
    return found if isinstance(found, list) else []


def text(value, *names):
    """The string there, or None."""
    found = get(value, *names)
    return found if isinstance(found, str) else None


def integer(value, *names):
    """The integer there, if it is one that a double tells from its neighbours."""
    found = get(value, *names)
    found = found.integer if isinstance(found, Number) else None
    return None if found is None or abs(found) > LARGEST else found


def number(value, *names):
    found = get(value, *names)
    return found.value if isinstance(found, Number) else None


is_text = lambda value: isinstance(value, str)
is_filled = lambda value: isinstance(value, str) and value != ""
is_number = lambda value: isinstance(value, Number)
is_flag = lambda value: isinstance(value, bool)
is_list = lambda value: isinstance(value, list)
is_object = lambda value: isinstance(value, dict)
is_texts = lambda value: isinstance(value, list) and all(map(is_text, value))
is_integer = lambda value: isinstance(value, Number) and value.integer is not None
is_count = lambda value: is_integer(value) and 0 <= value.integer <= LARGEST
is_score = lambda value: is_integer(value) and 0 <= value.integer <= 100
is_hash = lambda value: isinstance(value, str) and HASH.match(value) is not None
is_digest = lambda value: isinstance(value, str) and DIGEST.match(value) is not None


def one_of(*words):
    return lambda value: isinstance(value, str) and value in words


def or_null(fits):
    return lambda value: value is None or fits(value)


def misfits(value, members, optional=()):
    """The names in the table `members` whose value in an object does not fit, or is missing and not optional."""
    return [
        name
        for name, fits in members.items()
        if not (fits(value[name]) if has(value, name) else name in optional)
    ]


def descents(elements, key, strict=False):
    """The indexes of elements that sort before the one before them (strictly: or equal it). None as a key is passed over."""
    before = None
    for at, element in enumerate(elements):
        here = key(element)
        if here is None:
            continue
        if before is not None and (here < before or (strict and here == before)):
            yield at
        before = here


def by_text(name):
    """A key for `descents`: the string member, by UTF-16 code units."""
    return lambda element: None if text(element, name) is None else utf16(element[name])


def is_control(c):
    return c < " " or c == "\x7f"


def has_drive(path):
    return re.match("[A-Za-z]:", path) is not None


def is_safe_path(path):
    return not (
        "\\" in path or any(map(is_control, path)) or has_drive(path)
        or any(segment in ("", ".", "..") for segment in path.split("/"))
    )


_time = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z\Z", re.ASCII)


def parse_time(value, fraction=(0, 3)):
    """Milliseconds of a time `YYYY-MM-DDTHH:MM:SSZ`, whose fraction has one of these lengths; None if it is no time."""
    found = _time.match(value) if isinstance(value, str) else None
    if found is None or (fraction is not None and len(found[7] or "") not in fraction):
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    leaps = second == 60 and (hour, minute) == (23, 59)  # a leap second counts as the second after it
    try:  # Python has no year 0, which has the days of the year 400.
        days = datetime.datetime(year or 400, month, day, hour, minute, second - leaps).toordinal()
    except ValueError:
        return None
    days -= 0 if year else 146_097
    seconds = days * 86_400 + (hour * 60 + minute) * 60 + second
    return seconds * 1000 + int((found[7] or "0").ljust(3, "0")[:3])
