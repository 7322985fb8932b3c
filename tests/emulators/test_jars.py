import os
import re
from pathlib import Path

import pytest

from tests.emulators.emulators import require_jars
from tests.emulators.jars import EmulatorsMissing, find_jars

FIRESTORE = "cloud-firestore-emulator/cloud-firestore-emulator.jar"
PUBSUB = "pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar"


def put(folder: Path, mode: int = 0o644) -> Path:
    """An empty file, and the folders above it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch(mode)
    return folder


@pytest.fixture
def java(tmp_path: Path) -> str:
    """A PATH with nothing but a `java` on it."""
    return str(put(tmp_path / "jre" / "bin" / "java", 0o755).parent)


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """An SDK with both emulators."""
    root = tmp_path / "sdk"
    put(root / "platform" / FIRESTORE)
    put(root / "platform" / PUBSUB)
    return root


def test_sdk_that_is_named_comes_first(java: str, sdk: Path) -> None:
    jars = find_jars({"PATH": java, "CLOUDSDK_ROOT_DIR": str(sdk)})
    assert (jars.java, jars.firestore, jars.pubsub) == (
        f"{java}/java",
        sdk / "platform" / FIRESTORE,
        sdk / "platform" / PUBSUB,
    )


def test_sdk_is_found_by_the_gcloud_that_the_path_leads_to(java: str, sdk: Path, tmp_path: Path) -> None:
    real = put(sdk / "bin" / "gcloud", 0o755)
    linked = tmp_path / "links" / "gcloud"
    linked.parent.mkdir()
    linked.symlink_to(real)
    jars = find_jars({"PATH": f"{linked.parent}{os.pathsep}{java}"})
    assert jars.firestore == sdk / "platform" / FIRESTORE


def test_variables_name_the_archives_themselves(java: str, sdk: Path, tmp_path: Path) -> None:
    firestore, pubsub = put(tmp_path / "firestore.jar"), put(tmp_path / "pubsub.jar")
    environ = {
        "PATH": java,
        "CLOUDSDK_ROOT_DIR": str(sdk),
        "AEX_FIRESTORE_EMULATOR_JAR": str(firestore),
        "AEX_PUBSUB_EMULATOR_JAR": str(pubsub),
    }
    jars = find_jars(environ)
    assert (jars.firestore, jars.pubsub) == (firestore, pubsub)


def test_archive_that_is_not_there_is_named_with_its_variable(java: str, sdk: Path) -> None:
    environ = {"PATH": java, "CLOUDSDK_ROOT_DIR": str(sdk), "AEX_PUBSUB_EMULATOR_JAR": "/no/such.jar"}
    with pytest.raises(EmulatorsMissing, match=re.escape("AEX_PUBSUB_EMULATOR_JAR: there is no file /no/such.jar")):
        find_jars(environ)


def test_missing_java_skips_a_test_and_fails_it_where_required(sdk: Path, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "CLOUDSDK_ROOT_DIR": str(sdk)}
    with pytest.raises(pytest.skip.Exception, match=r"need Java: `apt-get install default-jre-headless`$"):
        require_jars(environ)
    for variable in ("CI", "AEX_REQUIRE_EMULATORS"):
        with pytest.raises(pytest.fail.Exception, match="emulators are required here: the emulators need Java"):
            require_jars({**environ, variable: "1"})
