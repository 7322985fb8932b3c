"""What the tests of the dashboard, the alarms' questions and the table of metrics share."""

import asyncio
from collections.abc import Mapping

import pytest

from tests.deploy.promql import Figure, figures_in
from tests.deploy.scrapes import four_services, scraped


@pytest.fixture(scope="session")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Figure]:
    """Every metric that the four services tell, before anything has happened."""
    return figures_in(*asyncio.run(scraped(four_services(tmp_path_factory.mktemp("metrics") / ".aex"))))
