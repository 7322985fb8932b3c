import pytest

from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from tests.blobs.contract import BlobsContract


class TestBlobsInMemory(BlobsContract):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return open_blobs("memory:")
