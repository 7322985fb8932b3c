"""How each route is called: about which object, with which body, and what a list shows where it shows the object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from tests.e2e.jobs import GOOD, candidate, plain_work
from tests.e2e.parties import fresh
from tests.security.matrix import RowKey
from tests.security.sides import Side


@dataclass(frozen=True, slots=True)
class Recipe:
    """`kind` and `strange`: the object that is the caller's own, and in which state it asks for somebody else's.

    `shows`: the id that a list holds where it holds the object. `spends`: a success changes the object's state.
    """

    kind: str = "nothing"
    strange: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Callable[[Side], Any] = lambda _: None
    shows: str = ""
    spends: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any
    shows: str | None
    spends: str | None


def ask(row: RowKey, side: Side, role: Audience, *, own: bool) -> Ask:
    """The row's request about an object of the side, from a caller in the role."""
    recipe = RECIPES[_name(row)]
    kind = recipe.kind if own else recipe.strange or recipe.kind
    ids = {**side.ids(kind), **_names(side, role, row.variant)}
    return Ask(
        row.route.method,
        row.route.path.replace(":path", "").format(**ids),
        recipe.query,
        recipe.body(side),
        ids[recipe.shows] if recipe.shows else None,
        kind if recipe.spends else None,
    )


def _names(side: Side, role: Audience, variant: str) -> Mapping[str, str]:
    party = role if role is Audience.AGENT else Audience.CONSUMER
    name = side.callers[party].id
    account = "platform:fees" if variant == "platform" else f"{party.value}:{name}"
    agent = side.callers[Audience.AGENT].id
    return {
        "party": name,
        "account_id": account,
        "agent_id": agent,
        "digest": "0" * 16,
        "name": "none.css",
        "rest": "no/such/page",
    }


def _name(row: RowKey) -> str:
    return str(row).partition(" ")[2]


def _award(side: Side) -> Any:
    return {"agent_id": side.parties.agent.id, "cpc_rate": "0.40"}


def _deposit(side: Side) -> Any:
    sums = {"platform:cash": 5_000_000, f"consumer:{side.parties.consumer.id}": -5_000_000}
    postings = [{"account": name, "amount": amount, "currency": "USD"} for name, amount in sums.items()]
    return {"kind": "deposit", "postings": postings, "reason": "prepaid"}


def _trial() -> Any:
    work = plain_work()
    return {"success_criteria": work["success_criteria"], "output": candidate(GOOD)["output"]}


def _question(side: Side) -> Any:
    return {
        "attempt_id": fresh("att"),
        "contract_id": fresh("ctr"),
        "work_id": fresh("work"),
        "domain": "news",
        "agent": {"id": side.parties.agent.id},
        "consumer": {"id": side.parties.consumer.id},
        "output_hash": sha256_hex(b"nothing"),
        "received_at": "2026-01-05T10:00:00Z",
    }


_MANY: Mapping[str, Any] = {"limit": 200}
_PUBLIC = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs")
_DOCS = ("/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css")
_KIT = ("/", "/sign-in", "/{rest:path}", "/static/{digest}/{name:path}")
RECIPES: Mapping[str, Recipe] = {
    **{f"GET {path}": Recipe() for path in (*_PUBLIC, *_DOCS, "/v1/metrics/catalog", "/v1/rules")},
    **{f"GET {path}": Recipe() for path in ("/v1/domains", "/v1/domains/{name:path}")},
    "POST /v1/domains/infer": Recipe(body=lambda _: {"text": "rmsd", "columns": []}),
    "POST /v1/work": Recipe(body=lambda _: plain_work()),
    "POST /v1/work/validate": Recipe(body=lambda _: plain_work()),
    "GET /v1/work [open]": Recipe("open", query=_MANY, shows="work_id"),
    "GET /v1/work [awarded]": Recipe("awarded", query=_MANY, shows="work_id"),
    "GET /v1/work/{work_id} [open]": Recipe("open"),
    "GET /v1/work/{work_id} [awarded]": Recipe("awarded"),
    "POST /v1/work/{work_id}/cancel": Recipe("open", spends=True),
    "POST /v1/work/{work_id}/award": Recipe("open", body=_award, spends=True),
    "POST /v1/work/{work_id}/claim": Recipe("claimable", strange="awarded", spends=True),
    "GET /v1/awards/{contract_id}": Recipe("awarded"),
    "PUT /v1/artifacts": Recipe(body=lambda _: {"any": "bytes"}),
    "GET /v1/artifacts/{sha256}": Recipe("filed"),
    "GET /v1/contracts": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/contracts/{contract_id}": Recipe("settled"),
    "POST /v1/contracts/{contract_id}/outputs": Recipe("awarded", body=lambda _: candidate(GOOD), spends=True),
    "GET /v1/contracts/{contract_id}/attempts": Recipe("settled", query=_MANY, shows="attempt_id"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id}": Recipe("settled"),
    "GET /v1/contracts/{contract_id}/events": Recipe("settled"),
    "POST /v1/contracts/{contract_id}/finalize": Recipe("judged", spends=True),
    "POST /v1/contracts/{contract_id}/cancel": Recipe("awarded", spends=True),
    "GET /v1/outcomes": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/outcomes/export": Recipe("settled", query={"format": "jsonl"}, shows="contract_id"),
    "GET /v1/outcomes/{contract_id}": Recipe("settled"),
    "POST /v1/verify": Recipe(body=lambda _: _trial()),
    "POST /v1/outcomes/validate": Recipe(body=_question),
    "GET /v1/holds": Recipe("held", query=_MANY, shows="hold_id"),
    "GET /v1/holds/{hold_id}": Recipe("held"),
    "POST /v1/holds/{hold_id}/decision": Recipe(
        "held", body=lambda _: {"decision": "reject", "reason": "looked into it"}, spends=True
    ),
    "GET /v1/agents/{agent_id:path}/profile": Recipe("settled"),
    "GET /review": Recipe("held", query=_MANY, shows="hold_id"),
    "GET /review/holds/{hold_id}": Recipe("held"),
    "POST /review/holds/{hold_id}": Recipe("held"),
    **{f"GET /review{path}": Recipe() for path in ("/waiting", "/rules", *_KIT)},
    **{f"POST /review/{path}": Recipe() for path in ("sign-in", "sign-out")},
    "GET /v1/settlements": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/settlements/breakdown": Recipe("settled", query={"group_by": ["agent", "consumer"]}, shows="party"),
    "GET /v1/settlements/export": Recipe("settled", query={"format": "jsonl"}, shows="contract_id"),
    "GET /v1/settlements/{contract_id}": Recipe("settled"),
    "POST /v1/settlements/{contract_id}/reversals": Recipe(
        "settled", body=lambda _: {"reason": "booked twice"}, spends=True
    ),
    "GET /dashboard/settlements": Recipe("settled", shows="contract_id"),
    "GET /dashboard/settlements/{contract_id}": Recipe("settled"),
    "GET /dashboard/export": Recipe("settled", shows="contract_id"),
    "GET /dashboard/accounts/{account_id:path} [party]": Recipe("settled"),
    "GET /dashboard/accounts/{account_id:path} [platform]": Recipe("settled"),
    **{f"GET /dashboard{path}": Recipe() for path in ("", "/accounts", *_KIT)},
    **{f"POST /dashboard/{path}": Recipe() for path in ("sign-in", "sign-out")},
    "GET /v1/trial-balance": Recipe("settled", shows="account_id"),
    "POST /v1/ledger/transactions": Recipe(body=_deposit),
    "GET /v1/accounts/{account_id:path} [party]": Recipe("settled"),
    "GET /v1/accounts/{account_id:path} [platform]": Recipe("settled"),
    "GET /v1/accounts/{account_id:path}/entries [party]": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/accounts/{account_id:path}/entries [platform]": Recipe("settled", query=_MANY),
}
