"""Killing services, and what the Pub/Sub emulator has to be told of it."""

from concurrent.futures import ThreadPoolExecutor

import httpx

from aex_models.events import subscriptions_of
from aex_runtime.bus.pubsub_topology import subscription_id, subscription_path
from tests.e2e.live import Live

_NOWHERE = "http://127.0.0.1:1/"


def kill(live: Live, service: str, replica: int = 1) -> None:
    """End one process of the service with SIGKILL."""
    victim = live.process(service, replica)
    victim.kill()
    victim.wait()
    forget_streams(live, service)


def forget_streams(live: Live, service: str) -> None:
    """Have the emulator end the streams of the service's subscriptions; living processes open theirs anew.

    Pub/Sub itself notices a connection that broke. The emulator goes on handing messages to the stream of a killed
    process, for good (measured: half of all messages for as long as anybody looked), and each of those waits for its
    ack deadline. A subscription that becomes one with push delivery loses its streams; what the dead one was handed
    before still waits, once.
    """
    if live.backend.project is None:
        return
    host, project = live.backend.environment["PUBSUB_EMULATOR_HOST"], live.backend.project
    paths = [subscription_path(project, subscription_id(topic, service)) for topic in subscriptions_of(service)]

    with httpx.Client(trust_env=False) as http, ThreadPoolExecutor(len(paths)) as pool:

        def forget(path: str) -> None:
            for endpoint in ({"pushEndpoint": _NOWHERE}, {}):
                url = f"http://{host}/v1/{path}:modifyPushConfig"
                http.post(url, json={"pushConfig": endpoint}).raise_for_status()

        list(pool.map(forget, paths))
