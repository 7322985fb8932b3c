import json
import re
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind
from structlog.testing import capture_logs

from aex_runtime.settings import BadConfiguration, RuntimeSettings
from aex_runtime.telemetry import (
    Attributes,
    add_span_attributes,
    continue_trace,
    current_trace_context,
    mark_span_failed,
)
from aex_runtime.tracing.exporters import open_tracers
from aex_runtime.tracing.google_otlp import google_cloud_exporter
from aex_runtime.tracing.sdk import BatchExporter, BatchPolicy, create_recording_tracers
from tests.libs.runtime.background import full_disk
from tests.libs.runtime.tracing.collector import collecting

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = f"00-{TRACE}-{SPAN}-01"
INSTANT = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"


def opened(url: str, **values: Any) -> TracerProvider:
    tracers = open_tracers(RuntimeSettings(traces_url=url, **values), "settlement")
    assert tracers is not None
    return tracers


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(
    "url",
    [
        "file://", "file:///", "http://", "https:///v1/traces", "http://user:secret@127.0.0.1/v1/traces",
        "http://127.0.0.1:port/v1/traces", "http://127.0.0.1:0/v1/traces", "http://127.0.0.1:70000/v1/traces",
    ],
)  # fmt: skip
def test_invalid_traces_url_is_bad_configuration(url: str) -> None:
    with pytest.raises(BadConfiguration, match="AEX_TRACES_URL") as refused:
        opened(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("values", [{"traces_url": "zipkin://x"}, {"traces_ratio": -0.1}, {"traces_ratio": 1.1}])
def test_invalid_settings_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"AEX_TRACES_URL: unknown scheme|traces_ratio"):
        RuntimeSettings.model_validate(values)


def fail_in_a_span(tracers: TracerProvider) -> None:
    with continue_trace(CALLER, None, "process outcome.verified", tracers) as span:
        add_span_attributes({"aex.contract_id": "ctr_1", "url.path": "/CANARY", "url.query": "CANARY"})
        span.add_link(span.get_span_context())
        raise ValueError("CANARY")


def test_span_is_one_line_without_the_text_of_its_error(tmp_path: Path) -> None:
    file = tmp_path / "new" / "spans.jsonl"
    tracers = opened(f"file:///{file}")
    assert not file.parent.exists()
    with pytest.raises(ValueError, match="CANARY"):
        fail_in_a_span(tracers)
    tracers.shutdown()
    [line] = lines_of(file)
    own = {"trace_id": TRACE, "span_id": line["span_id"]}
    assert re.fullmatch(INSTANT, line.pop("start"))
    assert re.fullmatch(INSTANT, line.pop("end"))
    assert line == {
        **own,
        "parent_span_id": SPAN,
        "name": "process outcome.verified",
        "kind": "consumer",
        "status": "error",
        "service": "aex-settlement",
        "attributes": {"aex.contract_id": "ctr_1", "error.type": "ValueError"},
        "links": [own],
    }


def test_exporters_that_share_a_file_write_complete_lines(tmp_path: Path) -> None:
    file, many = tmp_path / "spans.jsonl", 300

    def record(number: int) -> None:
        tracers = opened(f"file:///{file}")
        for _ in range(many):
            with continue_trace(None, None, f"{number} " + "x" * 500, tracers):
                pass
        tracers.shutdown()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(record, range(3)))
    names = Counter(line["name"].partition(" ")[0] for line in lines_of(file))
    assert names == {"0": many, "1": many, "2": many}


def test_full_disk_loses_complete_lines(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    tracers = opened(f"file:///{file}")
    with capture_logs() as logs, full_disk(4_000):
        for size in (1, 10_000, 1):
            with continue_trace(None, None, "x" * size, tracers):
                pass
            tracers.force_flush()
        tracers.shutdown()
    assert [line["name"] for line in lines_of(file)] == ["x", "x"]
    assert "spans_lost" in {line["event"] for line in logs}


def test_refused_spans_are_logged_as_lost() -> None:
    with collecting() as collector:
        tracers = opened(f"{collector.url}/v1/traces", google_project="some-project")
        with continue_trace(CALLER, None, "fire deadline", tracers):
            add_span_attributes({"url.path": "/CANARY"})
        tracers.force_flush()
        assert collector.names() == ["fire deadline"]
        assert b"CANARY" not in collector.bodies[0]
        assert b"some-project" in collector.bodies[0]
        collector.status = 400
        with capture_logs() as lines:
            with continue_trace(CALLER, None, "refused", tracers):
                pass
            tracers.shutdown()
    assert [(line["event"], line["spans"]) for line in lines if line["event"] == "spans_lost"] == [("spans_lost", 1)]


def test_callers_trace_state_is_not_exported() -> None:
    state = ",".join(f"canary{number}={'x' * 250}" for number in range(30))
    with collecting() as collector:
        tracers = opened(f"{collector.url}/v1/traces")
        with continue_trace(CALLER, state, "process outcome.verified", tracers) as span:
            span.add_link(span.get_span_context())
            assert "canary29" in current_trace_context()["tracestate"]
        tracers.shutdown()
    assert collector.names() == ["process outcome.verified"]
    assert len(collector.bodies[0]) < 1_000
    assert b"canary" not in collector.bodies[0]


def test_host_of_a_called_service_alone_is_exported(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    tracers = opened(f"file:///{file}")
    for kind in (SpanKind.SERVER, SpanKind.CLIENT):
        host: Attributes = {"server.address": "127.0.0.1", "server.port": 8083, "http.request.method": "POST"}
        with continue_trace(CALLER, None, "POST", tracers, kind=kind, attributes=host):
            pass
    tracers.shutdown()
    assert {line["kind"]: set(line["attributes"]) for line in lines_of(file)} == {
        "server": {"http.request.method"},
        "client": {"http.request.method", "server.address", "server.port"},
    }


def test_google_gets_a_token_of_the_process_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        key = rsa.generate_private_key(65537, 2048)
        account = {
            "type": "service_account",
            "project_id": "some-project",
            "private_key_id": "1",
            "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "client_email": "settlement@some-project.iam.gserviceaccount.com",
            "token_uri": f"{collector.url}/token",
        }
        (tmp_path / "account.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        exporter = google_cloud_exporter(f"{collector.url}/v1/traces", "some-project")
        assert collector.tokens == 0
        tracers = create_recording_tracers("settlement", [BatchExporter(exporter)])
        for name in ("one", "two"):
            with continue_trace(CALLER, None, name, tracers):
                pass
            tracers.force_flush()
        tracers.shutdown()
    assert (collector.names(), collector.tokens) == (["one", "two"], 1)
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer granted-1"}
    assert {headers["x-goog-user-project"] for headers in collector.headers} == {"some-project"}


class Hanging(SpanExporter):
    def __init__(self) -> None:
        self.released, self.took = threading.Event(), 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.released.wait()
        self.took += len(spans)
        return SpanExportResult.SUCCESS


def end_spans(number: int, batches: BatchExporter) -> None:
    tracers = create_recording_tracers("settlement", [batches])
    for _ in range(number):
        with continue_trace(CALLER, None, "work", tracers):
            pass


def test_hanging_exporter_delays_no_work_and_loses_spans_above_the_limit() -> None:
    exporter = Hanging()
    batches = BatchExporter(exporter, BatchPolicy(batch=10, max_waiting=100, stop_s=0.2))
    with capture_logs() as lines:
        end_spans(1_000, batches)
        batches.shutdown()
        assert exporter.took == 0
        exporter.released.set()
        batches.force_flush()
    lost = sum(line["spans"] for line in lines if line["event"] == "spans_lost")
    assert 0 < exporter.took <= 200
    assert lost + exporter.took == 1_000


class Broken(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError(f"CANARY {len(spans)}")


def test_failed_export_is_logged_without_its_message() -> None:
    batches = BatchExporter(Broken())
    with capture_logs() as lines:
        end_spans(3, batches)
        batches.shutdown()
    assert sum(line["spans"] for line in lines) == 3
    assert "CANARY" not in str(lines)


def recorded(tmp_path: Path, parents: Sequence[str | None], **values: Any) -> int:
    file = tmp_path / "spans.jsonl"
    tracers = opened(f"file:///{file}", **values)
    for parent in parents:
        with continue_trace(parent, None, "work", tracers):
            mark_span_failed("whatever")
    tracers.shutdown()
    return len(lines_of(file)) if file.exists() else 0


def test_ratio_is_of_new_traces_or_of_all_linked_ones(tmp_path: Path) -> None:
    unsampled = CALLER.removesuffix("01") + "00"
    callers = [CALLER, unsampled]
    assert recorded(tmp_path / "none", [None] * 50, traces_ratio=0.0) == 0
    assert 25 < recorded(tmp_path / "some", [None] * 200, traces_ratio=0.3) < 100
    assert [recorded(tmp_path / str(ratio), callers, traces_ratio=ratio) for ratio in (0.0, 1.0)] == [1, 1]
    assert recorded(tmp_path / "linked", callers, traces_callers="linked") == 2
    assert recorded(tmp_path / "none linked", callers, traces_callers="linked", traces_ratio=0.0) == 0
