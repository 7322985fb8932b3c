import pytest

from tests.libs.runtime.pages.site import NOON, Visited, built_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    return built_site(tmp_path_factory.mktemp("notes"))


@pytest.fixture
def notes(site: Visited) -> Visited:
    site.client.cookies.clear()
    site.saved.clear()
    site.clock.advance(NOON - site.clock.now())
    return site
