"""Stuffed terms are held; prose, headings, figures and short answers are not."""

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.keyword_stuffing import RULE
from aex_governance.text.free_text import analyze_text
from aex_models.governance import Action, Flag
from aex_outcomes.kernels.keywords import keyword_layout
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
TERMS = ("revenue", "gross margin", "guidance", "cash flow", "inventory", "headcount")
MORE = ("dividend", "capex")
OTHER = (
    "The company had a calm quarter and says so at length. It opened two offices, closed one, and moved to the "
    "city's north, where rents are lower. The board thanked everyone for their patience during the move. Nothing "
    "else of note reached the press, and the questions that followed were short and friendly."
)
PROSE = (
    "Revenue rose by four percent against last year, which is less than the guidance had promised in spring. The gross "
    "margin held up because prices did, although inventory grew in both warehouses over the summer. Management expects "
    "cash flow to recover once the stock is sold, and has frozen headcount until then."
)
BULLETS = (
    "- Revenue rose by four percent against the same quarter of last year\n"
    "- The gross margin held up well because prices did\n"
    "- Management left its guidance for the year as it was in spring\n"
    "- Cash flow suffered from the stock that was built up over the summer\n"
    "- Inventory in both warehouses is expected to shrink by winter\n"
    "- Headcount stays frozen until the end of the year\n"
)
REPORT = "\n\n".join(f"{term.title()}\n{OTHER}" for term in TERMS)
RECIPE = "For the board:\n" + "\n".join(f"- {term}" for term in TERMS) + f"\n\n{OTHER}"
FIGURES = "Key figures of the quarter:\n" + "\n".join(f"{term.title()}: {n}.5" for n, term in enumerate(TERMS, 3))


def flag_of(text: str, terms: tuple[str, ...] = TERMS) -> Flag | None:
    layout = keyword_layout(text, terms)
    stats = {"found": layout.found, "density": layout.density, "list_share": layout.list_share}
    return RULE.check(case(history={"text": analyze_text(text)}, output_text=text, keyword_stats=stats), THRESHOLDS)


@pytest.mark.parametrize(
    "text",
    [
        ", ".join((*TERMS, *MORE)),
        "\n".join(TERMS * 3),
        "the revenue and the guidance of cash flow with gross margin or inventory for headcount in revenue by "
        "gross margin to guidance at headcount",
        f"{OTHER}\n\nKeywords: {', '.join(TERMS)}",
        f"{' '.join(TERMS)}\n\n{OTHER}",
        f"{OTHER} {OTHER}\n" + "\n".join(f"- {term}" for term in TERMS),
        f"{OTHER}\n" + "\n".join(f"{n}. {term}" for n, term in enumerate(TERMS, 1)),
        "\n".join(["Our revenue, gross margin, guidance, cash flow and inventory are as good as they ever were."] * 8),
        " ".join(f"the {term} and" for term in TERMS * 5),
        "revenue " * 60,
        "收入、毛利率、现金流、库存、员工人数。"
        + "公司本季度平静，没有其他值得报道的消息，董事会感谢大家的耐心等待。" * 2,
    ],
)
def test_terms_without_prose_are_held(text: str) -> None:
    flag = flag_of(text, (*TERMS, *MORE, "收入", "毛利率", "现金流", "库存", "员工人数"))
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence["reasons"]
    assert {"found", "density", "list_share", "tokens", "repeated_share"} <= flag.evidence.keys()


@pytest.mark.parametrize("times", [1, 4, 40])
@pytest.mark.parametrize("joint", [", ", " ", "\n", " #"])
def test_list_behind_prose_of_any_length_is_held(times: int, joint: str) -> None:
    prose = "\n".join(f"{OTHER} That was week {week}." for week in range(times))
    flag = flag_of(f"{prose}\n\n{joint.join(TERMS[:4])}")
    assert flag is not None
    assert flag.evidence["list_share"] == 1
    assert flag_of(f"{prose}\n\n{PROSE}\n\n{joint.join(TERMS[:4])}") is None


@pytest.mark.parametrize(
    "text",
    [
        *(PROSE, f"{PROSE}\n\nGlossary: {', '.join(TERMS)}", BULLETS, REPORT, FIGURES, RECIPE),
        *(OTHER, OTHER + " Its gross margin is as it was.", "revenue", ", ".join(TERMS[:5]), "yes"),
    ],
)
def test_honest_texts_are_allowed(text: str) -> None:
    assert flag_of(text) is None


@pytest.mark.parametrize(
    ("found", "density", "list_share", "held"),
    [
        (5, 0.45, 0.9, True),
        (8, 0.2, 0.6, True),
        (5, 0.06, 1.0, True),
        (5, 0.6, 0.0, True),
        (8, 0.35, 0.5, True),
        (6, 0.3, 0.1, False),
        (5, 0.06, 0.5, False),
        (0, 0.0, 0.0, False),
    ],
)
def test_statistics_without_a_text_are_judged(found: int, density: float, list_share: float, held: bool) -> None:
    stats = {"found": found, "density": density, "list_share": list_share}
    assert (RULE.check(case(keyword_stats=stats), THRESHOLDS) is not None) is held


def test_no_required_terms_raise_no_flag() -> None:
    assert RULE.check(case(output_text="a, b, c"), THRESHOLDS) is None
