import pytest

from aex_models.domains import Domain
from aex_outcomes import DomainRegistry
from aex_outcomes.science.domains.quantities import find_claimed_quantity, index_quantities_by_name

REGISTRY = DomainRegistry.load()
Range = tuple[float | None, float | None, str]
TABLE: dict[str, dict[str, Range]] = {
    "bioinformatics/DMS": {"fitness_score": (-5, 2, ""), "log_fold_change": (-5, 2, "")},
    "bioinformatics/RNAseq": {
        **{"log2_fold_change": (-15, 15, ""), "p_value": (0, 1, ""), "fdr": (0, 1, "")},
        **{"tpm": (0, None, ""), "fpkm": (0, None, "")},
    },
    "molecular-dynamics": {
        **{"rmsd": (0, 50, "Å"), "temperature": (0, 1000, "K"), "pressure": (0, None, "bar")},
        "energy": (None, None, ""),
    },
    "statistics/correlation": {
        **{"pearson_r": (-1, 1, ""), "spearman_rho": (-1, 1, ""), "r_squared": (0, 1, ""), "p_value": (0, 1, "")},
    },
}


def domain(name: str) -> Domain:
    found = REGISTRY.get(name)
    assert found is not None
    return found


def test_package_has_the_four_domains_and_an_alias() -> None:
    assert REGISTRY.names == tuple(sorted(TABLE))
    assert REGISTRY.get("genomics/RNAseq") is domain("bioinformatics/RNAseq")
    assert DomainRegistry() == REGISTRY


@pytest.mark.parametrize("name", TABLE)
def test_ranges_are_those_of_the_table(name: str) -> None:
    ranges = domain(name).value_ranges
    assert {quantity: (each.min, each.max, each.unit) for quantity, each in ranges.items()} == TABLE[name]
    assert domain(name).common_issues
    assert domain(name).description


def test_dms_has_typical_fitness_columns_checks_and_recipes() -> None:
    dms = domain("bioinformatics/DMS")
    fitness = dms.value_ranges["fitness_score"]
    assert (fitness.typical_mean, fitness.typical_std) == (0, 1)
    assert dms.common_columns == ("mut_score", "fitness", "log2_enrichment")
    assert [each.name for each in dms.sanity_checks] == ["fitness_mean_near_zero", "no_extreme_outliers"]
    assert dms.sanity_checks[0].max == fitness.typical_std
    recipes = [(each.name, each.stat.value) for each in dms.statistics]
    assert recipes == [(f"{stat}_fitness", stat) for stat in ("mean", "std", "min", "max")]


@pytest.mark.parametrize("name", TABLE)
def test_every_recipe_of_a_domain_is_held_to_one_of_its_ranges(name: str) -> None:
    one = domain(name)
    known = index_quantities_by_name(one)
    assert all(find_claimed_quantity(each.name, one, known) for each in one.statistics)
    assert all(find_claimed_quantity(f"mean_{column}", one, known) for column in one.common_columns)
