import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.domains import Domain
from aex_outcomes import DomainRegistry, infer_domain

REGISTRY = DomainRegistry.load()
DMS, RNASEQ = "bioinformatics/DMS", "bioinformatics/RNAseq"
MD, CORRELATION = "molecular-dynamics", "statistics/correlation"


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Deep mutational scanning of TEM-1", DMS),
        ("the column mut_score", DMS),
        ("DEEP\u00a0MUTATIONAL", DMS),
        ("Deep\nmutational scanning", DMS),
        ("deep\n\nmutational", None),
        ("It is deep.\nMutational load is another thing", None),
        ("saturation\u00admutagenesis? no: saturation mutagenesis", DMS),
        ("RNA-seq of liver", RNASEQ),
        ("DESeq", RNASEQ),
        ("the backbone's RMSD", MD),
        ("ｒｍｓｄ", MD),
        ("the lights were amber, the energy high, the temperature low", None),
        ("a fitness app with 10,000 mutations of its feed", None),
        ("rmsds and armsd and ßrmsd", None),
        ("", None),
        ("🧬", None),
        (f"the domain is {DMS}", DMS),
        ("genomics/RNAseq", RNASEQ),
    ],
)
def test_complete_words_and_phrases_match(text: str, domain: str | None) -> None:
    assert infer_domain(text, registry=REGISTRY).domain == domain


def test_the_packaged_domains_are_known_unless_others_are_given() -> None:
    assert infer_domain("gromacs").domain == MD
    own = DomainRegistry.from_domains([Domain(name="x/y", description="", keywords=("gromacs",))])
    assert infer_domain("gromacs", registry=own).domain == "x/y"


def test_tie_yields_scores_without_guess() -> None:
    guess = infer_domain("pearson of rmsd", registry=REGISTRY)
    assert (guess.domain, guess.scores) == (None, {MD: 1.0, CORRELATION: 1.0})


def test_domain_with_most_different_words_wins() -> None:
    assert infer_domain("rmsd " * 50 + "deseq and fold change", registry=REGISTRY).domain == RNASEQ
    guess = infer_domain("Pearson correlation of fold changes between RNA-seq replicates", registry=REGISTRY)
    assert (guess.domain, guess.scores) == (RNASEQ, {RNASEQ: 2.0, CORRELATION: 1.0})


@pytest.mark.parametrize(
    ("columns", "domain"),
    [
        (["id", "mut_score"], DMS),
        (["log2FoldChange", "padj"], RNASEQ),
        (["rmsd_backbone"], MD),
        (["time", "temperature", "pressure"], None),
        (["mut", "score"], None),
        (["", "🧬"], None),
    ],
)
def test_columns_match_by_name(columns: list[str], domain: str | None) -> None:
    assert infer_domain("", columns, REGISTRY).domain == domain
    assert infer_domain("fitness", columns, REGISTRY).scores == infer_domain("", columns, REGISTRY).scores


WORDS = st.sampled_from(
    [*(word for each in REGISTRY.domains for word in each.keywords), "amber", "the", "\u0301", "/", "."]
)


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=4))
def test_the_guess_is_the_one_highest_score(words: list[str], columns: list[str]) -> None:
    guess = infer_domain(" ".join(words), columns, REGISTRY)
    leading = [name for name, score in guess.scores.items() if score == max(guess.scores.values())]
    assert guess.domain == (leading[0] if len(leading) == 1 else None)
    assert set(guess.scores) <= set(REGISTRY.names)
    assert all(score >= 1 for score in guess.scores.values())


@given(st.text(max_size=200))
def test_any_text_is_read_whatever_its_case(text: str) -> None:
    assert infer_domain(f"{text} rmsd", registry=REGISTRY) == infer_domain(f"{text} RMSD", registry=REGISTRY)


@pytest.mark.parametrize("piece", ["deep mutational ", "\u0301", "a_", "deep", "\ufdfa"])
def test_long_texts_take_time_in_line_with_their_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        infer_domain(text, registry=REGISTRY)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(200_000) < 40 * max(seconds(20_000), 0.005)
