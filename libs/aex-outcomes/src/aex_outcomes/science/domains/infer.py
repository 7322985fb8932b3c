"""Which domain a text and the columns of a file speak of: a guess by words, and none where they say too little."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aex_models.domains import Domain, DomainGuess
from aex_outcomes.kernels.words import clauses_of
from aex_outcomes.science.domains.registry import DomainRegistry

_Phrase = tuple[str, ...]


def infer_domain(text: str, columns: Sequence[str] = (), registry: DomainRegistry | None = None) -> DomainGuess:
    """The domain that most of a text's and the columns' words speak for; None on a tie, or where none do.

    A domain scores a point for each of its keywords (and its own names) in the text, however often it stands there,
    and one for each keyword or name of its score column among the columns. Keywords match as whole words and phrases,
    case-folded and NFKC-normalised; between the words of a phrase may stand blanks, hyphens, slashes and underscores:
    `rna-seq` is found in "RNA seq", and `rmsd` in `rmsd_backbone`, but not in "rmsds". Phrases reach across the end of
    a line, and not across that of a sentence or a blank line. Takes time linear in the input. `registry`: the packaged
    domains unless given.
    """
    known = registry or DomainRegistry.load()
    in_text = [(each, _phrases(each, columns=False)) for each in known.domains]
    in_columns = [(each, _phrases(each, columns=True)) for each in known.domains]
    said = _Index.of(in_text).found([_words(clause) for clause in clauses_of(_unwrapped(text.replace("/", " ")))])
    named = _Index.of(in_columns).found([_flat(column) for column in columns])
    scores = {
        domain.name: float(points)
        for domain in known.domains
        if (points := len(said.get(domain.name, ())) + len(named.get(domain.name, ())))
    }
    best = max(scores.values(), default=0.0)
    leading = [name for name, score in scores.items() if score == best]
    return DomainGuess(domain=leading[0] if len(leading) == 1 else None, scores=scores)


@dataclass(frozen=True, slots=True)
class _Index:
    """Phrases of all domains by their first word, so that a text is walked through once."""

    by_first: dict[str, list[tuple[_Phrase, str]]]

    @classmethod
    def of(cls, phrases: Iterable[tuple[Domain, set[_Phrase]]]) -> "_Index":
        by_first: dict[str, list[tuple[_Phrase, str]]] = {}
        for domain, each in phrases:
            for phrase in each:
                by_first.setdefault(phrase[0], []).append((phrase, domain.name))
        return cls(by_first)

    def found(self, clauses: Iterable[Sequence[str]]) -> dict[str, set[_Phrase]]:
        """Domain → those of its phrases that stand in any of the clauses."""
        hits: dict[str, set[_Phrase]] = {}
        for clause in clauses:
            for place, word in enumerate(clause):
                for phrase, domain in self.by_first.get(word, ()):
                    if tuple(clause[place : place + len(phrase)]) == phrase:
                        hits.setdefault(domain, set()).add(phrase)
        return hits


def _unwrapped(text: str) -> str:
    """One line for each paragraph."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return "\n".join(map(" ".join, paragraphs))


def _phrases(domain: Domain, *, columns: bool) -> set[_Phrase]:
    listed = [*domain.keywords, domain.name, *domain.aliases, *(domain.common_columns if columns else ())]
    return {phrase for each in listed if (phrase := tuple(_flat(each)))}


def _flat(text: str) -> list[str]:
    return [word for clause in clauses_of(text.replace("/", " ")) for word in _words(clause)]


def _words(clause: Sequence[str]) -> list[str]:
    return [part for word in clause for part in word.split("_") if part]
