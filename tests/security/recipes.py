"""Request of each route: its object, its body, and how a list shows the object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_models.canonical import sha256_hex
from tests.e2e.jobs import GOOD, candidate, plain_work
from tests.e2e.parties import fresh
from tests.security.sides import Ids


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of a route's request.

    `kind` and `strange` are the own object and the state for foreign requests. `shows` is the part of the object that
    an answer contains. `spends`: a success changes the object's state. `page` has the form for `body`. `crossed`
    lists the foreign parts in a request about an own object. Texts in `query` may name `{ids}`.
    `keyed`: each request has an idempotency key of its own, without which it is refused.
    """

    kind: str = "nothing"
    strange: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Callable[[Ids], Any] = lambda _: None
    headers: Mapping[str, str] = field(default_factory=dict)
    shows: str = ""
    spends: bool = False
    crossed: tuple[str, ...] = ()
    page: str = ""
    keyed: bool = False


def _award(ids: Ids) -> Any:
    return {"agent_id": ids["agent_id"], "cpc_rate": "0.40"}


def _deposit(ids: Ids) -> Any:
    sums = {"platform:cash": 5_000_000, f"consumer:{ids['consumer_id']}": -5_000_000}
    postings = [{"account": name, "amount": amount, "currency": "USD"} for name, amount in sums.items()]
    return {"kind": "deposit", "postings": postings, "reason": "prepaid"}


def _trial(**further: Any) -> Any:
    work = plain_work()
    return {"success_criteria": work["success_criteria"], "output": candidate(GOOD)["output"], **further}


def _question(ids: Ids) -> Any:
    return {
        "attempt_id": fresh("att"),
        "contract_id": fresh("ctr"),
        "work_id": fresh("work"),
        "domain": "news",
        "agent": {"id": ids["agent_id"]},
        "consumer": {"id": ids["consumer_id"]},
        "output_hash": sha256_hex(b"nothing"),
        "received_at": "2026-01-05T10:00:00Z",
    }


def _file(ids: Ids) -> Any:
    return {"name": "scores.csv", "media_type": "text/csv", "sha256": ids["sha256"]}


def _with_data(ids: Ids) -> Any:
    statistic = {"name": "mean", "stat": "mean", "column": "mut_score"}
    science = {"question": "How much?", "statistics": [statistic], "data": [_file(ids)]}
    return plain_work(science=science)


_MANY: Mapping[str, Any] = {"limit": 200}
_OF_AGENT: Mapping[str, Any] = {"agent_id": "{agent_id}"}
_OF_BOTH: Mapping[str, Any] = {**_OF_AGENT, "consumer_id": "{consumer_id}"}
_OF_WORK: Mapping[str, Any] = {"work_id": "{work_id}"}
_AS_FILTERED: Mapping[str, Any] = {"agent": "{agent_id}", "consumer": "{consumer_id}"}
_DECIDED: Mapping[str, Any] = {"decision": "reject", "reason": "looked into it", "step": "check"}
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
    "GET /v1/work [secrets]": Recipe("open", query=_MANY, shows="reference"),
    "POST /v1/work [data]": Recipe("uploaded", body=_with_data, crossed=("sha256",)),
    "POST /v1/work/validate [data]": Recipe("uploaded", body=_with_data, shows="valid", crossed=("sha256",)),
    "GET /v1/work/{work_id} [open]": Recipe("open"),
    "GET /v1/work/{work_id} [secrets]": Recipe("open", shows="reference"),
    "GET /v1/work/{work_id} [awarded]": Recipe("awarded"),
    "POST /v1/work/{work_id}/cancel": Recipe("open", spends=True),
    "POST /v1/work/{work_id}/award": Recipe("open", body=_award, spends=True),
    "POST /v1/work/{work_id}/claim": Recipe("claimable", strange="awarded", spends=True),
    "GET /v1/awards/{contract_id}": Recipe("awarded"),
    "PUT /v1/artifacts": Recipe(body=lambda _: {"any": "bytes"}),
    "GET /v1/artifacts/{sha256}": Recipe("filed"),
    "GET /v1/artifacts/{sha256} [unpaid]": Recipe("unpaid"),
    "GET /v1/contracts [unpaid]": Recipe("unpaid", query=_MANY, shows="told"),
    "GET /v1/contracts/{contract_id} [unpaid]": Recipe("unpaid", shows="told"),
    "POST /v1/contracts/{contract_id}/outputs [file]": Recipe(
        "uploaded", body=lambda ids: candidate(GOOD, artifacts=[_file(ids)]), spends=True, crossed=("sha256",)
    ),
    "POST /v1/contracts/{contract_id}/outputs [waiting]": Recipe(
        "awarded", query={"wait_s": 20}, body=lambda _: candidate(GOOD), spends=True
    ),
    "GET /v1/contracts/{contract_id}/attempts [paid]": Recipe("settled", query=_MANY, shows="said"),
    "GET /v1/contracts/{contract_id}/attempts [unpaid]": Recipe("unpaid", query=_MANY, shows="said"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id} [paid]": Recipe("settled", shows="said"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id} [unpaid]": Recipe("unpaid", shows="said"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id} [feedback]": Recipe("unpaid", shows="feedback"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id} [hash]": Recipe("unpaid", shows="hash"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id} [crossed]": Recipe("settled", crossed=("attempt_id",)),
    "GET /v1/contracts/{contract_id}/events [read]": Recipe("settled", headers={"Last-Event-ID": "999999"}),
    "GET /v1/contracts/{contract_id}/events [unpaid]": Recipe("unpaid", shows="message"),
    "GET /v1/contracts": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/contracts/{contract_id}": Recipe("settled"),
    "POST /v1/contracts/{contract_id}/outputs": Recipe("awarded", body=lambda _: candidate(GOOD), spends=True),
    "GET /v1/contracts/{contract_id}/attempts": Recipe("settled", query=_MANY, shows="attempt_id"),
    "GET /v1/contracts/{contract_id}/attempts/{attempt_id}": Recipe("settled"),
    "GET /v1/contracts/{contract_id}/events": Recipe("settled"),
    "POST /v1/contracts/{contract_id}/finalize": Recipe("judged", spends=True),
    "POST /v1/contracts/{contract_id}/cancel": Recipe("awarded", spends=True),
    "POST /v1/contracts/{contract_id}/decline": Recipe("awarded", spends=True),
    "GET /v1/outcomes": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/outcomes/export": Recipe("settled", query={"format": "jsonl"}, shows="contract_id"),
    "GET /v1/outcomes [party]": Recipe("settled", query={**_MANY, **_OF_BOTH}, shows="contract_id"),
    "GET /v1/outcomes [work]": Recipe("settled", query=_OF_WORK, shows="contract_id"),
    "GET /v1/contracts [work]": Recipe("settled", query=_OF_WORK, shows="contract_id"),
    "GET /v1/outcomes [paid]": Recipe("settled", query=_MANY, shows="said"),
    "GET /v1/outcomes [unpaid]": Recipe("unpaid", query=_MANY, shows="said"),
    "GET /v1/outcomes/export [party]": Recipe("settled", query=_OF_BOTH, shows="contract_id"),
    "GET /v1/outcomes/export [agent]": Recipe("settled", query=_OF_AGENT, shows="contract_id"),
    "GET /v1/outcomes/export [rollouts]": Recipe("settled", query={"format": "rollouts"}, shows="contract_id"),
    "GET /v1/outcomes/export [unpaid]": Recipe("unpaid", shows="said"),
    "GET /v1/outcomes/{contract_id}": Recipe("settled"),
    "GET /v1/outcomes/{contract_id} [paid]": Recipe("settled", shows="said"),
    "GET /v1/outcomes/{contract_id} [unpaid]": Recipe("unpaid", shows="said"),
    "POST /v1/verify": Recipe(body=lambda _: _trial()),
    "POST /v1/verify [file]": Recipe("uploaded", body=lambda ids: _trial(artifacts=[_file(ids)])),
    "POST /v1/verify/batch": Recipe(
        body=lambda _: {"success_criteria": plain_work()["success_criteria"]},  # one line, and no output
        headers={"Content-Type": "application/x-ndjson"},
    ),
    "POST /v1/outcomes/validate": Recipe(body=_question),
    "GET /v1/holds": Recipe("held", query=_MANY, shows="hold_id"),
    "GET /v1/holds [party]": Recipe("held", query={**_MANY, **_OF_BOTH}, shows="hold_id"),
    "GET /v1/holds/{hold_id}": Recipe("held"),
    "POST /v1/holds/{hold_id}/decision": Recipe(
        "held", body=lambda _: {"decision": "reject", "reason": "looked into it"}, spends=True
    ),
    "GET /v1/agents/{agent_id:path}/profile": Recipe("settled"),
    "GET /review": Recipe("held", query=_MANY, shows="hold_id"),
    "GET /review/holds/{hold_id}": Recipe("held"),
    "POST /review/holds/{hold_id}": Recipe("held"),
    "POST /review/holds/{hold_id} [form]": Recipe("held", body=lambda _: _DECIDED, page="/review/holds/{hold_id}"),
    "POST /review/sign-out [form]": Recipe(body=lambda _: {}, page="/review/rules"),
    "POST /dashboard/sign-out [form]": Recipe(body=lambda _: {}, page="/dashboard"),
    "GET /review/static/{digest}/{name:path} [file]": Recipe(),
    "GET /dashboard/static/{digest}/{name:path} [file]": Recipe(),
    **{f"GET /review{path}": Recipe() for path in ("/waiting", "/rules", *_KIT)},
    **{f"POST /review/{path}": Recipe() for path in ("sign-in", "sign-out")},
    "GET /v1/settlements": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/settlements [party]": Recipe("settled", query={**_MANY, **_OF_BOTH}, shows="contract_id"),
    "GET /v1/settlements [agent]": Recipe("settled", query={**_MANY, **_OF_AGENT}, shows="contract_id"),
    "GET /v1/settlements/export [party]": Recipe("settled", query=_OF_BOTH, shows="contract_id"),
    "GET /v1/settlements/export [agent]": Recipe("settled", query=_OF_AGENT, shows="contract_id"),
    "GET /v1/settlements/breakdown": Recipe("settled", query={"group_by": ["agent", "consumer"]}, shows="party"),
    "GET /v1/settlements/export": Recipe("settled", query={"format": "jsonl"}, shows="contract_id"),
    "GET /v1/settlements/{contract_id}": Recipe("settled"),
    "POST /v1/settlements/{contract_id}/reversals": Recipe(
        "settled", body=lambda _: {"reason": "booked twice"}, spends=True, keyed=True
    ),
    "GET /dashboard [domain]": Recipe("settled", query={"agent": "{agent_id}"}, shows="domain"),
    "GET /dashboard/settlements": Recipe("settled", shows="contract_id"),
    "GET /dashboard/settlements [party]": Recipe("settled", query=_AS_FILTERED, shows="contract_id"),
    "GET /dashboard/export [party]": Recipe("settled", query=_AS_FILTERED, shows="contract_id"),
    "GET /dashboard/settlements/{contract_id}": Recipe("settled"),
    "GET /dashboard/export": Recipe("settled", shows="contract_id"),
    "GET /dashboard/accounts/{account_id:path} [party]": Recipe("settled"),
    "GET /dashboard/accounts/{account_id:path} [platform]": Recipe("settled"),
    **{f"GET /dashboard{path}": Recipe() for path in ("", "/accounts", *_KIT)},
    **{f"POST /dashboard/{path}": Recipe() for path in ("sign-in", "sign-out")},
    "GET /v1/trial-balance": Recipe("settled", shows="account_id"),
    "POST /v1/ledger/transactions": Recipe(body=_deposit, keyed=True),
    "GET /v1/accounts/{account_id:path} [party]": Recipe("settled"),
    "GET /v1/accounts/{account_id:path} [platform]": Recipe("settled"),
    "GET /v1/accounts/{account_id:path}/entries [party]": Recipe("settled", query=_MANY, shows="contract_id"),
    "GET /v1/accounts/{account_id:path}/entries [platform]": Recipe("settled", query=_MANY),
}
