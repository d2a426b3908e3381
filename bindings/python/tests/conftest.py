"""A sealed bundle for the tests, and a folder of their own."""

from __future__ import annotations

import pathlib

import pytest

import runseal


@pytest.fixture
def bundle(tmp_path: pathlib.Path) -> pathlib.Path:
    with runseal.record(tmp_path / "runs", name="TRAINING", run_id="first", script=False) as run:
        run.param("rate", 0.1)
        run.metric("loss", 0.5, step=1)
        run.artifact_bytes("loss.csv", b"step,loss\n1,0.5\n")
    return run.path


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace: dict[str, object], tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> None:
    doctest_namespace["runseal"] = runseal
    if "doctest" in type(request.node).__name__.lower():
        with runseal.record(tmp_path / "docs", name="EXAMPLE", script=False) as run:
            run.param("a", 1)
        doctest_namespace["BUNDLE"] = run.path
        doctest_namespace["OUT"] = tmp_path / "out"
