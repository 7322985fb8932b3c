import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_LEAST_PART = 5 * 1024 * 1024
_PART_NUMBER = re.compile(r"<PartNumber>(\d+)</PartNumber>")
_PART_ETAG = re.compile(r"<ETag>([^<]+)</ETag>")
_LAST_MODIFIED = "Sun, 01 Nov 2026 00:00:00 GMT"


class _Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status


@dataclass
class Bucket:
    name: str
    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """Content and generation."""
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    failures: int = 0
    """So many requests are still to be refused as if by an overloaded server."""
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def app(self) -> Starlette:
        methods = ["GET", "PUT", "POST", "DELETE"]
        routes = [Route("/{bucket}/{key:path}", self._answer, methods=methods)]
        return Starlette(routes=routes, exception_handlers={_Refused: _refuse})

    async def _answer(self, request: Request) -> Response:
        query = request.query_params
        self.requests.append(" ".join([request.method, *sorted(query)]))
        content = await request.body()
        if self.failures:
            self.failures -= 1
            raise _Refused(503, "ServiceUnavailable")
        if request.path_params["bucket"] != self.name:
            raise _Refused(404, "NoSuchBucket")
        key = request.path_params["key"]
        if "uploads" in query or "uploadId" in query:
            return self._upload(request.method, key, query, content)
        return self._object(request.method, key, request.headers, content)

    def _object(self, method: str, key: str, headers: Mapping[str, str], content: bytes) -> Response:
        expected, source = headers.get("x-goog-if-generation-match"), headers.get("x-goog-copy-source")
        if method == "PUT" and source is not None:
            name, _, copied = unquote(source).removeprefix("/").partition("/")
            if name != self.name:
                raise _Refused(404, "NoSuchBucket")
            return self._written(key, self._read(copied)[0], expected, "<CopyObjectResult/>")
        if method == "PUT":
            return self._written(key, content, expected, "")
        found, generation = self._read(key)
        if method == "DELETE":
            del self.objects[key]
            return Response(status_code=204)
        return _ranged(_answer(found, found, generation), headers.get("range"))

    def _upload(self, method: str, key: str, query: Mapping[str, str], content: bytes) -> Response:
        if "uploads" in query:
            upload = f"upload-{next(self._numbers)}"
            self.uploads[upload] = {}
            element = "InitiateMultipartUploadResult"
            return _answer(f"<{element}><UploadId>{upload}</UploadId></{element}>")
        if query["uploadId"] not in self.uploads:
            raise _Refused(404, "NoSuchUpload")
        parts = self.uploads[query["uploadId"]]
        if method == "PUT":
            parts[int(query["partNumber"])] = content
            return _answer("", content)
        if method == "DELETE":
            del self.uploads[query["uploadId"]]
            return Response(status_code=204)
        joined = _joined(parts, content.decode())
        del self.uploads[query["uploadId"]]
        result = f"<CompleteMultipartUploadResult><ETag>{_etag(joined)}</ETag></CompleteMultipartUploadResult>"
        return self._written(key, joined, None, result)

    def _read(self, key: str) -> tuple[bytes, int]:
        if key not in self.objects:
            raise _Refused(404, "NoSuchKey")
        return self.objects[key]

    def _written(self, key: str, content: bytes, expected: str | None, body: str) -> Response:
        """Store an object if its generation is the expected one (0: there is none)."""
        if expected is not None and self.objects.get(key, (b"", 0))[1] != int(expected):
            raise _Refused(412, "PreconditionFailed")
        self.objects[key] = (content, next(self._numbers))
        return _answer(body, *self.objects[key])


async def _refuse(_request: Request, refused: Exception) -> Response:
    assert isinstance(refused, _Refused)
    return Response(f"<Error><Code>{refused}</Code></Error>", refused.status)


def _joined(parts: Mapping[int, bytes], completion: str) -> bytes:
    listed = list(zip(map(int, _PART_NUMBER.findall(completion)), _PART_ETAG.findall(completion), strict=True))
    if listed != sorted(listed) or any(_etag(parts.get(number, b"")) != etag for number, etag in listed):
        raise _Refused(400, "InvalidPart")
    contents = [parts[number] for number, _ in listed]
    if not contents or any(len(content) < _LEAST_PART for content in contents[:-1]):
        raise _Refused(400, "EntityTooSmall")
    return b"".join(contents)


def _answer(body: str | bytes, hashed: bytes = b"", generation: int = 0) -> Response:
    headers = {"ETag": _etag(hashed), "Last-Modified": _LAST_MODIFIED, "x-goog-generation": str(generation)}
    return Response(body, headers=headers)


def _ranged(complete: Response, requested: str | None) -> Response:
    if requested is None:
        return complete
    content, (first, last) = bytes(complete.body), map(int, requested.removeprefix("bytes=").split("-"))
    if first >= len(content):
        raise _Refused(416, "InvalidRange")
    part = content[first : last + 1]
    headers = {name: complete.headers[name] for name in ("etag", "last-modified", "x-goog-generation")}
    range_text = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
    return Response(part, 206, {**headers, "Content-Range": range_text})


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'
