from typing import Any

import pytest
from pydantic import BaseModel, ValidationError


def refusals(model: type[BaseModel], body: Any) -> dict[str, str]:
    """Return the codes of the problems of a body, by their positions."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    return {".".join(map(str, each["loc"])): each["type"] for each in refused.value.errors()}


def codes(model: type[BaseModel], body: Any) -> set[str]:
    return set(refusals(model, body).values())
