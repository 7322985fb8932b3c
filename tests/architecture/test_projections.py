"""Projections for consumers name what the consumer pays for."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]

WITHOUT_DISCLOSURE = {
    "libs/aex-cli/src/aex_cli/commands/domains.py": "domains are public",
    "libs/aex-cli/src/aex_cli/commands/lint.py": "the author's own work",
    "libs/aex-models/src/aex_models/audiences.py": "events, for services",
    "libs/aex-runtime/src/aex_runtime/artifacts.py": "the uploader's own file",
    "services/governance/src/aex_governance/api.py": "for operators, services and public rules",
    "services/governance/src/aex_governance/handlers/read_holds.py": "for operators",
    "services/settlement/src/aex_settlement/api/parameters.py": "amounts, balances and entries",
    "services/settlement/src/aex_settlement/dashboard/overview.py": "amounts by group",
    "services/settlement/src/aex_settlement/dashboard/settlement.py": "ledger transactions",
    "services/verification/src/aex_verification/api/catalog.py": "metrics and domains are public",
    "services/verification/src/aex_verification/api/contracts.py": "the agent's own attempt",
    "services/work-publisher/src/aex_work_publisher/api.py": "works and awards have no delivery",
    "services/work-publisher/src/aex_work_publisher/handlers/read_work.py": "works have no delivery",
}
"""Files that call `project` without a disclosure, each with its reason."""


def calls_without_disclosure(source: str) -> list[int]:
    """Return the lines of `project` calls without a third argument."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "project"
        and len(node.args) < 3
        and not any(keyword.arg == "disclosure" for keyword in node.keywords)
    ]


def test_only_listed_files_project_without_a_disclosure() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("*/*/src/**/*.py")
        if calls_without_disclosure(path.read_text(encoding="utf-8"))
    }
    assert found == set(WITHOUT_DISCLOSURE)


def test_call_without_a_disclosure_is_found() -> None:
    assert calls_without_disclosure("project(record, reader.role)") == [1]
    assert calls_without_disclosure("project(record, role, Disclosure())\nproject(a, b, disclosure=c)") == []
