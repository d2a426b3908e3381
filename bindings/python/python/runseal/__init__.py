"""Verify, describe and seal runs: evidence that somebody else can check offline.

Verify what you were handed:

>>> import runseal
>>> report = runseal.verify(BUNDLE)
>>> report.ok
True
>>> [(unit.format, unit.ok) for unit in report.units]
[('run-bundle', True)]

Describe a run while it goes on; leaving the block seals it:

>>> with runseal.record(OUT, name="TRAINING") as run:
...     run.param("rate", 0.1)
...     for step, loss in enumerate([0.5, 0.25]):
...         run.metric("loss", loss, step=step)
...     run.artifact_bytes("notes.txt", b"converged")
>>> runseal.verify(run.path).ok
True

What a program says of itself is a claim. `runseal record -- COMMAND`, on the command line, observes what a
command reads and writes, and its bundles can be replayed.
"""

from __future__ import annotations

import json as _json
import os as _os
import sys as _sys
from dataclasses import dataclass
from pathlib import Path as _Path
from types import TracebackType
from typing import Any, Iterator, Literal, Mapping, Union

from . import _runseal
from ._notebook import comparison_html, inspection_html, report_html
from ._runseal import RunsealError, __version__

__all__ = [
    "Comparison",
    "Finding",
    "Inspection",
    "Replay",
    "Report",
    "Run",
    "RunsealError",
    "Sealed",
    "Unit",
    "canon",
    "diff",
    "digest",
    "inspect",
    "record",
    "replay",
    "seal",
    "verify",
    "__version__",
]

StrPath = Union[str, "_os.PathLike[str]"]
Level = Literal["document", "integrity", "form"]


@dataclass(frozen=True)
class Finding:
    """What does not hold, and where."""

    rule: str
    path: str | None
    message: str


@dataclass(frozen=True)
class Unit:
    """One thing that was looked at."""

    path: str
    format: str
    ok: bool
    findings: tuple[Finding, ...]
    data: Mapping[str, Any]
    """Everything that `runseal verify --format json` says of it."""


@dataclass(frozen=True)
class Report:
    """What verifying gave. True where everything holds; printed, it reads as on a terminal."""

    exit_code: int
    json: str
    """What `runseal verify --format json` prints, byte for byte."""
    text: str

    @property
    def ok(self) -> bool:
        """Whether everything that was found holds. Nothing found is never ok."""
        return self.exit_code == 0

    @property
    def data(self) -> Any:
        """The answer as Python values."""
        return _json.loads(self.json)

    @property
    def units(self) -> list[Unit]:
        """What was looked at, sorted by path."""
        return [_unit(result) for result in self.data["results"]]

    @property
    def findings(self) -> list[Finding]:
        """All findings of all units."""
        return [finding for unit in self.units for finding in unit.findings]

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return report_html(self)


def _unit(result: Mapping[str, Any]) -> Unit:
    findings = tuple(
        Finding(
            rule=violation["rule_id"],
            path=violation.get("path"),
            message=violation["message"],
        )
        for violation in result.get("violations", [])
    )
    return Unit(
        path=result["path"],
        format=result["format"],
        ok=bool(result["ok"]),
        findings=findings,
        data=result,
    )


def verify(
    *paths: StrPath,
    level: Level = "integrity",
    threads: int | None = None,
    trust: StrPath | None = None,
    at: str | None = None,
    require_signed: bool = False,
) -> Report:
    """Verifies anything: a folder, a document, an archive, or a tree of them.

    ``level`` is ``"integrity"`` as on the command line, ``"form"`` for ``--strict`` or ``"document"`` for
    ``--lenient``. ``trust`` names a policy that must accept everything, as of now or of the time ``at`` in UTC
    (``"2026-01-01T00:00:00Z"``).

    >>> runseal.verify("nothing-here").exit_code
    2
    """
    if not paths:
        raise TypeError("verify() needs at least one path")
    if at is not None and trust is None:
        raise ValueError("at is the time at which a policy is asked: it needs trust")
    answer = _runseal.verify(
        [_os.fspath(path) for path in paths],
        level,
        threads,
        None if trust is None else _os.fspath(trust),
        at,
        require_signed,
    )
    return Report(*answer)


@dataclass(frozen=True)
class Inspection:
    """What something is; printed, it reads as on a terminal."""

    ok: bool
    json: str
    text: str
    path: str

    @property
    def data(self) -> Any:
        """What `runseal inspect --format json` says, as Python values."""
        return _json.loads(self.json)

    def __bool__(self) -> bool:
        return self.ok

    def html(self) -> str:
        """The page that `runseal report` writes: one HTML file that needs nothing else."""
        return _runseal.page(self.path)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return inspection_html(self)


def inspect(path: StrPath) -> Inspection:
    """Shows what is at ``path``: inputs, outputs, steps, whether it holds and is signed."""
    name = _os.fspath(path)
    return Inspection(*_runseal.inspect(name), path=name)


@dataclass(frozen=True)
class Comparison:
    """Where two differ; printed, it reads as on a terminal."""

    same: bool
    json: str
    text: str

    def __bool__(self) -> bool:
        return self.same

    @property
    def data(self) -> Any:
        """What `runseal diff --format json` says, as Python values."""
        return _json.loads(self.json)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return comparison_html(self)


def diff(a: StrPath, b: StrPath) -> Comparison:
    """Compares two of the same format: by meaning first, then by bytes."""
    return Comparison(*_runseal.diff(_os.fspath(a), _os.fspath(b)))


@dataclass(frozen=True)
class Replay:
    """What a replay gave: ``REPRODUCED``, ``DIVERGED`` or ``NOT REPLAYABLE``."""

    verdict: str
    json: str
    text: str

    def __bool__(self) -> bool:
        return self.reproduced

    @property
    def reproduced(self) -> bool:
        """Whether every run gave what was sealed."""
        return self.verdict == "REPRODUCED"

    @property
    def data(self) -> Any:
        """What `runseal replay --format json` says, as Python values."""
        return _json.loads(self.json)

    def __str__(self) -> str:
        return self.text


def replay(
    path: StrPath,
    *,
    times: int = 1,
    engine: StrPath | None = None,
    same_environment: bool = False,
    sandbox: Literal["namespaces", "landlock", "none"] = "namespaces",
) -> Replay:
    """Runs a run bundle again in the sandbox and compares."""
    if times < 1:
        raise ValueError("times must be at least 1")
    engine_path = None if engine is None else _os.fspath(engine)
    return Replay(*_runseal.replay(_os.fspath(path), times, engine_path, same_environment, sandbox))


def canon(value: Any) -> bytes:
    """The canonical JSON (RFC 8785) of a value, or of a JSON text given as ``bytes``.

    >>> runseal.canon({"b": 1.0, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    >>> runseal.canon(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    runseal.RunsealError: JSON: ...
    """
    return bytes(_runseal.canon(_json_bytes(value)))


def _json_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else _dump(value).encode()


def _dump(value: Any) -> str:
    return _json.dumps(value, allow_nan=False, ensure_ascii=True)


def digest(data: bytes | StrPath) -> str:
    """The SHA-256 of bytes, or of the file that a path names, as hexadecimal digits.

    >>> runseal.digest(b"")[:16]
    'e3b0c44298fc1c14'
    """
    if not isinstance(data, bytes):
        data = _Path(data).read_bytes()
    return _runseal.digest(data)


@dataclass(frozen=True)
class Sealed:
    """A bundle that was sealed."""

    run_id: str
    path: _Path
    outputs_hash: str
    seed: _Path | None


def _sealed(done: tuple[str, Any, str, Any]) -> Sealed:
    run_id, path, outputs_hash, seed = done
    return Sealed(run_id, _Path(path), outputs_hash, None if seed is None else _Path(seed))


def seal(
    engine: StrPath,
    input: Any,
    output: Any,
    *,
    out: StrPath,
    run_id: str | None = None,
    artifacts: StrPath | None = None,
    redactable: bool = False,
) -> Sealed:
    """Seals what the engine in a folder gave for an input, made elsewhere. Nothing is executed.

    ``input`` and ``output`` are values, or JSON texts as ``bytes``.
    """
    done = _runseal.seal(
        _os.fspath(engine),
        _json_bytes(input),
        _json_bytes(output),
        _os.fspath(out),
        run_id,
        None if artifacts is None else _os.fspath(artifacts),
        redactable,
    )
    return _sealed(done)


class Run:
    """A run that this program describes; made by :func:`record`."""

    def __init__(self, run: _runseal.Run, seal: Mapping[str, Any], keep_failed: bool) -> None:
        self._run = run
        self._seal = seal
        self._keep_failed = keep_failed
        self.sealed: Sealed | None = None
        """What was sealed, once the block is left."""

    def param(self, name: str, value: Any) -> None:
        """What the program is set to: any JSON value. Said again, the later one stays."""
        self._run.param(name, _dump(value))

    def params(self, values: Mapping[str, Any]) -> None:
        """Several parameters at once."""
        for name, value in values.items():
            self.param(name, value)

    def metric(self, name: str, value: float, step: int | None = None) -> None:
        """What the program measured; with a step, every value is kept."""
        if isinstance(value, int) and int(float(value)) != value:
            raise ValueError(f"{value} is an integer that canonical JSON cannot hold")
        self._run.metric(name, float(value), step)

    def input(self, path: StrPath) -> None:
        """A file that the program reads, its code or data; kept as it is now."""
        self._run.input(_os.fspath(path))

    def artifact(self, path: StrPath, name: str | None = None) -> None:
        """A file that the program made; kept as it is now."""
        self._run.artifact(_os.fspath(path), name)

    def artifact_bytes(self, name: str, data: bytes) -> None:
        """Something that the program made and has in memory."""
        self._run.artifact_bytes(name, data)

    @property
    def path(self) -> _Path:
        """Where the sealed bundle is."""
        if self.sealed is None:
            raise RuntimeError("the run is not sealed yet")
        return self.sealed.path

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not _is_plain_exit(error):
            if not self._keep_failed:
                self._run.drop()
                return
            self._run.failed(_describe(error))
        self.sealed = _sealed(self._run.seal(**self._seal))

    def _repr_html_(self) -> str:
        if self.sealed is None:
            return "<p>a run that is not sealed yet</p>"
        return inspect(self.sealed.path)._repr_html_()


def _is_plain_exit(error: BaseException) -> bool:
    """Whether it is `sys.exit()` of a program that did what it was to do."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _describe(error: BaseException) -> str:
    """What an exception says, as text that can be sealed."""
    try:
        said = str(error)
    except Exception:  # whatever it says, the run is sealed
        said = "(it cannot be written as text)"
    return f"{type(error).__name__}: {said}".encode("utf-8", "backslashreplace").decode()


def record(
    out: StrPath,
    *,
    name: str = "PYTHON_RUN",
    version: str = "1",
    params: Mapping[str, Any] | None = None,
    inputs: StrPath | Iterator[StrPath] | list[StrPath] | tuple[StrPath, ...] = (),
    run_id: str | None = None,
    script: bool = True,
    keep_failed: bool = False,
    redactable: bool = False,
) -> Run:
    """Describes a run while it goes on; leaving the block seals a run bundle below ``out``.

    The script that runs is kept as an input unless ``script=False``. A block that ends with an exception seals
    nothing, or with ``keep_failed=True`` a bundle that is shown as a failed run everywhere; the exception goes on.
    A name, an id or a folder that nothing can be sealed under is refused here, before the work is done.
    """
    main = _main_script() if script else None
    command = ["python3", *([main.name] if main else []), *_sys.argv[1:]]
    begun = _runseal.Run(name, version, command)
    begun.check_target(_os.fspath(out), run_id, redactable)
    run = Run(
        begun,
        {"out": _os.fspath(out), "run_id": run_id, "redactable": redactable},
        keep_failed,
    )
    run.params(params or {})
    if main is not None:
        run.input(main)
    for path in [inputs] if isinstance(inputs, (str, _os.PathLike)) else inputs:
        run.input(path)
    return run


def _main_script() -> _Path | None:
    """The file that Python was started with; none in a notebook or a shell."""
    main = _sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if file is None or not _Path(file).is_file():
        return None
    return _Path(file)
