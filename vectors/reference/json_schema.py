"""As much of JSON Schema as contracts of engines commonly use; an unknown keyword raises Unsupported."""

import re

from canonical import form
from shape import *

DRAFTS = re.compile(r"https?://json-schema\.org/(draft-0[467]|draft/(2019-09|2020-12))/schema#?\Z")
TYPES = {
    "null": lambda value: value is None, "boolean": is_flag, "string": is_text, "array": is_list, "object": is_object,
    "number": is_number, "integer": is_integer,
}
IGNORED = {"$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples", "format", "$comment"}
count = lambda fits, measure: lambda value, bound, _: not fits(value) or measure(len(value), bound.value)
compare = lambda measure: lambda value, bound, _: not is_number(value) or measure(value.value, bound.value)
least, most = (lambda one, bound: one >= bound), (lambda one, bound: one <= bound)


class Unsupported(ValueError):
    """A keyword that is not evaluated here."""


class BadSchema(ValueError):
    """The schema is not one, or refers to something outside of itself."""


def resolve(root, reference):
    if not reference.startswith("#"):
        raise BadSchema("it refers outside")
    found = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not has(found, name):
            raise BadSchema("it refers to nothing")
        found = found[name]
    return found


def every(value, schema, root):
    return all(is_valid(item, schema, root) for item in value)


def properties(value, members, root, rest=None):
    return all(name not in value or is_valid(value[name], schema, root) for name, schema in members.items())


KEYWORDS = {
    "type": lambda value, names, _: any(TYPES[name](value) for name in (names if is_list(names) else [names])),
    "enum": lambda value, allowed, _: form(value) in map(form, allowed),
    "const": lambda value, wanted, _: form(value) == form(wanted),
    "required": lambda value, names, _: not is_object(value) or set(names) <= set(value),
    "minimum": compare(least), "maximum": compare(most),
    "exclusiveMinimum": compare(lambda one, bound: one > bound), "exclusiveMaximum": compare(lambda one, bound: one < bound),
    "minLength": count(is_text, least), "maxLength": count(is_text, most),
    "minItems": count(is_list, least), "maxItems": count(is_list, most),
    "minProperties": count(is_object, least), "maxProperties": count(is_object, most),
    "pattern": lambda value, pattern, _: not is_text(value) or re.search(pattern, value) is not None,
    "uniqueItems": lambda value, on, _: not (on and is_list(value)) or len(set(map(form, value))) == len(value),
    "items": lambda value, schema, root: not is_list(value) or every(value, schema, root),
    "properties": lambda value, members, root: not is_object(value) or properties(value, members, root),
    "allOf": lambda value, schemas, root: all(is_valid(value, schema, root) for schema in schemas),
    "anyOf": lambda value, schemas, root: any(is_valid(value, schema, root) for schema in schemas),
    "oneOf": lambda value, schemas, root: sum(is_valid(value, schema, root) for schema in schemas) == 1,
    "not": lambda value, schema, root: not is_valid(value, schema, root),
    "$ref": lambda value, reference, root: is_valid(value, resolve(root, reference), root),
}


def is_valid(value, schema, root):
    if is_flag(schema):
        return schema
    for name, argument in schema.items():
        if name == "additionalProperties":
            rest = {key for key in value if key not in schema.get("properties", {})} if is_object(value) else ()
            if not all(is_valid(value[key], argument, root) for key in rest):
                return False
        elif name in KEYWORDS:
            if not KEYWORDS[name](value, argument, root):
                return False
        elif name not in IGNORED and not name.startswith("x_"):
            raise Unsupported(name)
    return True


def check(schema, root=None, names=False):
    """Raises BadSchema where a schema is none, as far as it can be told here."""
    root = schema if root is None else root
    if not (is_object(schema) or is_flag(schema)):
        raise BadSchema("it is neither an object nor a boolean")
    if is_flag(schema):
        return
    if schema is root and not (text(schema, "$schema") is None or DRAFTS.match(schema["$schema"])):
        raise BadSchema("an unknown draft")
    for name, argument in schema.items():
        below = argument.values() if name in ("properties", "$defs", "definitions") and is_object(argument) else (
            [argument] if name in ("items", "additionalProperties", "not") else
            argument if name in ("allOf", "anyOf", "oneOf") and is_list(argument) else ())
        for part in below:
            check(part, root)
        right = {
            "type": lambda: all(is_text(one) and one in TYPES for one in (argument if is_list(argument) else [argument])),
            "required": lambda: is_texts(argument), "enum": lambda: is_list(argument), "properties": lambda: is_object(argument),
            "$ref": lambda: is_text(argument) and resolve(root, argument) is not None,
        }.get(name, lambda: True)
        if name.startswith(("minimum", "maximum", "exclusive")):
            right = lambda: is_number(argument)
        elif name.startswith(("min", "max")):
            right = lambda: is_count(argument)
        if not right():
            raise BadSchema(name)
