"""Guess of a work's scientific domain by keywords in its text and in the names of its data's columns."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from aex_models.domains import DomainGuess
from aex_outcomes.kernels.normalization import split_clauses
from aex_outcomes.science.domains.registry import DomainRegistry

_Phrase = tuple[str, ...]


def infer_domain(text: str, columns: Sequence[str] = (), registry: DomainRegistry | None = None) -> DomainGuess:
    """Guess the domain of a text and of column names; None if several domains tie or none matches.

    The domain with the most points wins. A domain gets one point for each of its keywords and names that occurs in the
    text, however often. It gets one more for each of its keywords, names and common columns among `columns`. Words
    match as complete, normalised words; blanks, hyphens, slashes and underscores separate them. A phrase may continue
    on the next line, but not in the next sentence or paragraph. Takes time linear in the input. `registry`: by default
    the packaged domains.
    """
    domains = (registry or DomainRegistry.load()).domains
    in_text = {each.name: _phrases(*each.keywords, each.name, *each.aliases) for each in domains}
    in_columns = {each.name: in_text[each.name] | _phrases(*each.common_columns) for each in domains}
    text_clauses = map(_split_underscores, split_clauses(_join_lines(text.replace("/", " "))))
    found = _matches(in_text, text_clauses) + _matches(in_columns, map(_words_in, columns))
    scores = {each.name: float(found[each.name]) for each in domains if found[each.name]}
    best = max(scores.values(), default=0.0)
    leading = [name for name, score in scores.items() if score == best]
    return DomainGuess(domain=leading[0] if len(leading) == 1 else None, scores=scores)


def _matches(phrases_by_domain: Mapping[str, set[_Phrase]], clauses: Iterable[Sequence[str]]) -> Counter[str]:
    """Return for each domain how many of its phrases occur in any clause."""
    by_first: dict[str, list[tuple[str, _Phrase]]] = {}  # by the first word, so that a text is read once
    for domain, phrases in phrases_by_domain.items():
        for phrase in phrases:
            by_first.setdefault(phrase[0], []).append((domain, phrase))
    hits: set[tuple[str, _Phrase]] = set()
    for clause in clauses:
        for position, word in enumerate(clause):
            for domain, phrase in by_first.get(word, ()):
                if tuple(clause[position : position + len(phrase)]) == phrase:
                    hits.add((domain, phrase))
    return Counter(domain for domain, _ in hits)


def _join_lines(text: str) -> str:
    """Join the lines of each paragraph into one line; a blank line separates paragraphs."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return "\n".join(map(" ".join, paragraphs))


def _phrases(*listed: str) -> set[_Phrase]:
    return {phrase for each in listed if (phrase := tuple(_words_in(each)))}


def _words_in(text: str) -> list[str]:
    return [word for clause in split_clauses(text.replace("/", " ")) for word in _split_underscores(clause)]


def _split_underscores(clause: Sequence[str]) -> list[str]:
    return [part for word in clause for part in word.split("_") if part]
