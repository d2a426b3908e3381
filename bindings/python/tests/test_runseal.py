"""The package as its users have it."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import pytest

import runseal


def tamper(path: pathlib.Path) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.1"))


def test_verify_says_what_holds(bundle: pathlib.Path) -> None:
    report = runseal.verify(bundle, level="form")
    assert report and report.ok and report.exit_code == 0
    (unit,) = report.units
    assert (unit.format, unit.ok, unit.findings) == ("run-bundle", True, ())
    assert "valid" in str(report)


def test_verify_says_what_does_not_hold(bundle: pathlib.Path) -> None:
    tamper(bundle / "artifacts" / "loss.csv")
    report = runseal.verify(bundle)
    assert not report and report.exit_code == 1
    assert [finding.rule for finding in report.findings] == ["RB5"] * len(report.findings)
    assert any(finding.path and "loss.csv" in finding.path for finding in report.findings)


def test_verify_of_nothing_is_no_success(tmp_path: pathlib.Path) -> None:
    assert runseal.verify(tmp_path).exit_code == 2
    assert runseal.verify(tmp_path / "missing").exit_code == 2
    with pytest.raises(TypeError):
        runseal.verify()
    with pytest.raises(ValueError, match="level"):
        runseal.verify(tmp_path, level="all")  # type: ignore[arg-type]


def test_archives_and_demands(bundle: pathlib.Path, tmp_path: pathlib.Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "evidence"), "zip", bundle.parent, bundle.name)
    assert runseal.verify(archive).ok
    assert not runseal.verify(archive, require_signed=True).ok
    with pytest.raises(runseal.RunsealError) as raised:
        runseal.verify(archive, trust=tmp_path / "no-policy.toml")
    assert raised.value.code == "NOT_FOUND"


def test_same_answer_as_the_command(bundle: pathlib.Path) -> None:
    command = os.environ.get("RUNSEAL_COMMAND")
    if command is None:
        assert os.environ.get("CI") != "true", "CI must name the command in RUNSEAL_COMMAND"
        pytest.skip("RUNSEAL_COMMAND does not name the command")
    ran = subprocess.run([command, "verify", str(bundle), "--format", "json"], capture_output=True, text=True)
    report = runseal.verify(bundle)
    assert (report.json + "\n", report.exit_code) == (ran.stdout, ran.returncode)
    ran = subprocess.run([command, "inspect", str(bundle), "--format", "json"], capture_output=True, text=True)
    assert runseal.inspect(bundle).json + "\n" == ran.stdout


def test_record_keeps_files_as_they_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("data").mkdir()
    data = pathlib.Path("data/set.csv")
    data.write_text("a,b\n1,2\n")
    with runseal.record("runs", params={"rate": 0.1, "layers": [64, 32]}, inputs=[data]) as run:
        data.write_text("changed")
        run.metric("loss", 0.5)
        pathlib.Path("model.bin").write_bytes(b"\0" * 10)
        run.artifact("model.bin", "models/one.bin")
    assert (run.path / "engine/data/set.csv").read_text() == "a,b\n1,2\n"
    assert (run.path / "artifacts/models/one.bin").stat().st_size == 10
    given = json.loads((run.path / "RUN_INPUT.json").read_text())
    assert given["parameters"] == {"rate": 0.1, "layers": [64, 32]}
    assert runseal.verify(run.path, level="form").ok


def test_record_by_a_script_keeps_the_script(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import runseal\n"
        "with runseal.record('runs', run_id='one') as run:\n"
        "    run.metric('loss', 0.25)\n"
        "print(run.path)\n"
    )
    ran = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, check=True)
    path = tmp_path / ran.stdout.strip()
    assert (path / "engine/train.py").read_bytes() == script.read_bytes()
    assert runseal.verify(path).ok
    replayed = runseal.replay(path)
    assert replayed.verdict == "NOT REPLAYABLE" and not replayed.reproduced


def test_an_exception_seals_nothing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ZeroDivisionError):
        with runseal.record(tmp_path / "runs", script=False) as run:
            run.param("a", 1 // 0)
    assert not (tmp_path / "runs").exists()
    with pytest.raises(RuntimeError):
        run.path
    with pytest.raises(ValueError, match="over"):
        run.metric("loss", 1.0)


def test_a_failed_run_is_kept_on_demand(tmp_path: pathlib.Path) -> None:
    with pytest.raises(KeyError):
        with runseal.record(tmp_path, script=False, keep_failed=True) as run:
            raise KeyError("no data")
    assert runseal.verify(run.path).ok
    assert json.loads((run.path / "RUN_OUTPUT.json").read_text())["failed"] is True
    assert "Failed" in str(runseal.inspect(run.path))


def test_bad_values_are_refused(tmp_path: pathlib.Path) -> None:
    with runseal.record(tmp_path / "runs", script=False) as run:
        with pytest.raises(ValueError):
            run.param("rate", float("nan"))
        with pytest.raises(TypeError):
            run.param("rate", object())
        with pytest.raises(runseal.RunsealError) as raised:
            run.metric("loss", float("inf"))
        assert raised.value.code == "NUMBER"
        with pytest.raises(runseal.RunsealError) as raised:
            run.input(tmp_path / "missing")
        assert raised.value.code == "NOT_FOUND"
        with pytest.raises(runseal.RunsealError):
            run.artifact_bytes("../up", b"")
    with pytest.raises(runseal.RunsealError) as raised:
        with runseal.record(tmp_path / "taken", script=False, run_id="../up"):
            pass
    assert raised.value.code == "RUN_ID"


def test_a_rejected_run_has_findings(tmp_path: pathlib.Path) -> None:
    with pytest.raises(runseal.RunsealError) as raised:
        with runseal.record(tmp_path / "runs", script=False) as run:
            run.artifact_bytes("x.json", b'{"user_email": "a@b"}')
    assert raised.value.code == "REJECTED"
    assert raised.value.findings[0][0] == "RB8"


def test_seal_and_replay_an_engine(tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(__file__).parents[3]
    engine = root / "examples/engines/resonance-sweep"
    made = tmp_path / "made"
    made.mkdir()
    given = runseal.canon((engine / "input.json").read_bytes())
    ran = subprocess.run(
        ["sh", "engine.sh", "sweep.awk"], cwd=engine, input=given, capture_output=True, check=True,
        env={**os.environ, "RUNSEAL_ARTIFACTS": str(made)},
    )
    sealed = runseal.seal(engine, given, ran.stdout, out=tmp_path / "out", artifacts=made)
    assert runseal.verify(sealed.path).ok
    replayed = runseal.replay(sealed.path, engine=engine)
    assert replayed.reproduced, str(replayed)
    with pytest.raises(runseal.RunsealError) as raised:
        runseal.seal(engine, {"wrong": 1}, ran.stdout, out=tmp_path / "out", artifacts=made)
    assert raised.value.code == "REJECTED"


def test_diff_canon_digest(bundle: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert runseal.diff(bundle, bundle).same
    with runseal.record(tmp_path / "other", name="TRAINING", script=False) as run:
        run.param("rate", 0.2)
    compared = runseal.diff(bundle, run.path)
    assert not compared.same and "rate" in str(compared)
    assert runseal.canon({"b": "\u20ac", "a": 1e21}) == '{"a":1e+21,"b":"\u20ac"}'.encode()
    file = tmp_path / "x"
    file.write_bytes(b"abc")
    assert runseal.digest(file) == runseal.digest(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_notebooks_show_no_markup_of_others(tmp_path: pathlib.Path) -> None:
    with runseal.record(tmp_path / "<script>", version="<b>BOLD</b>", script=False) as run:
        run.param("<img src=x onerror=alert(1)>", "</pre><script>alert(1)</script>")
    for shown in (runseal.verify(run.path), runseal.inspect(run.path), runseal.diff(run.path, run.path), run):
        html = shown._repr_html_()
        assert "<script>alert" not in html and "<img" not in html and "<b>BOLD" not in html
    page = runseal.inspect(run.path).html()
    assert page.startswith("<!DOCTYPE html>") and "<script>alert(1)" not in page


def test_the_lock_is_released_while_it_works(tmp_path: pathlib.Path) -> None:
    with runseal.record(tmp_path, script=False, run_id="large") as run:
        run.artifact_bytes("large.bin", os.urandom(1 << 20) * 200)
    ticks: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.perf_counter()
    assert runseal.verify(run.path, threads=1).ok
    ended = time.perf_counter()
    over.set()
    thread.join()
    inside = [moment for moment in ticks if begun < moment < ended]
    # With the lock held, the other thread would stand still for all of it.
    assert len(inside) > 5, (len(inside), ended - begun)


def test_what_could_not_be_sealed_is_told_before_the_run(tmp_path: pathlib.Path) -> None:
    with runseal.record(tmp_path, run_id="taken", script=False):
        pass
    for name, run_id in (("OK", "../x"), ("OK", "taken"), ("a/b", "free")):
        with pytest.raises(runseal.RunsealError):
            runseal.record(tmp_path, name=name, run_id=run_id, script=False)
    with runseal.record(tmp_path, script=False) as run:
        with pytest.raises(runseal.RunsealError):
            run.param("seed", 2**60 + 1)
        with pytest.raises(ValueError):
            run.metric("loss", 2**53 + 1)
    assert runseal.verify(run.path).ok


def test_exit_without_a_fault_is_sealed_and_odd_exceptions_go_on(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SystemExit):
        with runseal.record(tmp_path, run_id="ended", script=False):
            raise SystemExit(0)
    assert runseal.verify(tmp_path / "ended").units[0].data.get("outcome") is None
    with pytest.raises(ValueError):
        with runseal.record(tmp_path, run_id="odd", script=False, keep_failed=True):
            raise ValueError("\ud800")
    failed = runseal.verify(tmp_path / "odd")
    assert failed.units[0].data["outcome"] == "failed"
    assert "not everything ended well" in failed._repr_html_()
