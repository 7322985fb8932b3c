"""The service over HTTP, for the tests of its API."""

from pathlib import Path

import pytest

from tests.services.work_publisher.kit import Shop, open_shop
from tests.services.work_publisher.over_http import Api, open_api


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return open_api(tmp_path / "aex")


@pytest.fixture(scope="module")
def shared_api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    return open_api(tmp_path_factory.mktemp("data") / "aex")


@pytest.fixture
def shop() -> Shop:
    return open_shop()
