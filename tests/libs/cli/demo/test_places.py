from pathlib import Path

from aex_cli.demo.places import Places, places_of
from aex_runtime.settings import RuntimeSettings

DIRECTORY = Path("my data")


def test_embedded_data_are_in_the_data_directory_and_stay() -> None:
    assert places_of(RuntimeSettings(), DIRECTORY, {"HOME": "/root"}) == Places(
        "data in my data", "the data stay", None
    )


def test_each_kind_is_told_of_where_they_part() -> None:
    settings = RuntimeSettings(store_url="firestore://p", bus_url="pubsub://p", blobs_url="gs://b")
    places = places_of(settings, DIRECTORY, {})
    assert (places.told, places.afterwards) == (
        "records in firestore://p, events in pubsub://p, blobs in gs://b",
        "the data stay",
    )


def test_what_is_in_emulators_is_not_said_to_stay() -> None:
    settings = RuntimeSettings(
        store_url="firestore://p",
        bus_url="pubsub://p",
        firestore_emulator_host="127.0.0.1:1",
        pubsub_emulator_host="127.0.0.1:2",
        storage_emulator_host="http://127.0.0.1:3",
    )
    places = places_of(settings, DIRECTORY, {})
    assert places.told == (
        "records in firestore://p on the emulator 127.0.0.1:1, events in pubsub://p on the emulator 127.0.0.1:2, "
        "blobs in my data"
    )
    assert places.afterwards == "records and events stay as long as the emulators run"


def test_emulator_that_nothing_leads_to_is_not_told_of() -> None:
    settings = RuntimeSettings(store_url="sqlite:////s", firestore_emulator_host="127.0.0.1:1")
    places = places_of(settings, DIRECTORY, {})
    assert places.told == "records in sqlite:////s, events in my data, blobs in my data"
    assert places.afterwards == "the data stay"


def test_exports_lead_there_again_from_any_shell() -> None:
    environ = {
        "AEX_STORE_URL": "firestore://p",
        "AEX_KEY_FILE": "/my keys/one",
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
        "PUBSUB_EMULATOR_HOST": "",
        "AEX_LOG_LEVEL": "debug",
    }
    exports = places_of(RuntimeSettings(), DIRECTORY, environ).exports
    assert exports == (
        "export FIRESTORE_EMULATOR_HOST=127.0.0.1:1 AEX_STORE_URL=firestore://p AEX_KEY_FILE='/my keys/one'"
    )


def test_emulators_alone_need_no_exports() -> None:
    assert places_of(RuntimeSettings(), DIRECTORY, {"FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"}).exports is None
