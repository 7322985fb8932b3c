"""What the README shows is what happens."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.live import Live, live_suite

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shell_blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_first_screen_has_exactly_two_commands() -> None:
    commands = [line.split("#")[0].strip() for line in shell_blocks()[0].splitlines()]
    assert commands == ["make demo", "make test"]
    assert README.index("make test") < 1_500


@pytest.mark.parametrize("target", re.findall(r"make ([a-z-]+)", README + (ROOT / "CONTRIBUTING.md").read_text()))
def test_every_make_target_that_is_named_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("*/*/README.md")), ids=str)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_gating_ones_own_agent_prints_what_is_shown(tmp_path: Path) -> None:
    section = README[README.index("## Gate your own agent") :]
    code, shown = (
        re.search(rf"^```{kind}\n(.*?)^```", section, re.DOTALL | re.MULTILINE) for kind in ("python", "text")
    )
    assert code
    assert shown
    (tmp_path / "gate.py").write_text(code[1], encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "gate.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (told.stdout, told.stderr) == (shown[1], "")
    assert sum(1 for line in code[1].splitlines() if line) <= 20


@pytest.mark.e2e
def test_the_first_contract_goes_as_told(tmp_path: Path) -> None:
    with live_suite(tmp_path / ".aex") as live:
        first_contract, finance, operators, science = shell_blocks()[1:5]
        sealed = "sleep 1\n"  # the time that the README names
        printed = run_as_reader(f"{first_contract}\n{sealed}\n{finance}\n{operators}\n{science}", live, tmp_path)
    lines, claims = cut_before(printed.splitlines(), "<verification_rejected", nth=2)
    costs = next(place for place, line in enumerate(lines) if line.startswith("{'contract_id'"))
    rejected, *_, verdict, cost = lines[: costs + 1]
    assert rejected.startswith('<verification_rejected code="criteria_not_met"')
    assert verdict == "passed"
    assert "'total': '0.15'" in cost
    rows, accounts, columns, row, *_, seal, held, success_rate = lines[costs + 1 :]
    assert "'agent': 'bot'" in rows
    assert "'total': '0.15'" in rows
    assert "'account': 'agent:bot', 'currency': 'USD', 'balance': '-0.15'" in accounts
    assert next(csv.DictReader([columns, row]))["total"] == "0.15"
    assert seal.startswith("seal ")
    assert (held, success_rate) == ("[]", "1.0")
    *feedback, honest, paid, rollout = claims
    assert "- values_plausible: not met" in feedback
    assert "- values_consistent: not met" in feedback
    assert not any("0.4" in line for line in feedback)
    assert honest == "passed"
    assert "'total': '0.70'" in paid
    assert [step.get("reward") for step in json.loads(rollout)["trajectories"][0]["steps"]] == [None, 1.0]


def cut_before(lines: list[str], beginning: str, nth: int) -> tuple[list[str], list[str]]:
    """What is printed before the nth line with this beginning, and the rest."""
    places = [place for place, line in enumerate(lines) if line.startswith(beginning)]
    return lines[: places[nth - 1]], lines[places[nth - 1] :]


def run_as_reader(script: str, live: Live, folder: Path) -> str:
    """Run a block of the README against the suite, on the ports that it has here."""
    for place in range(4):
        script = script.replace(f"localhost:{8081 + place}", f"127.0.0.1:{live.running.port + place}")
    script = script.replace(". .venv/bin/activate", f'PATH="{Path(sys.executable).parent}:$PATH"')
    answer = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "*", "AEX_VERIFICATION_URL": live.url("verification", "")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
