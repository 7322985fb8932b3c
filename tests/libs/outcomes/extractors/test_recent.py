"""What was prepared last is kept."""

from aex_outcomes.extractors.recent import Recent


def test_what_is_kept_is_not_made_again_and_the_longest_unused_goes_first() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    recent: Recent[str, str] = Recent(2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert recent.get(name, lambda name=name: make(name)) == name.upper()  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]
