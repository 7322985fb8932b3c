import pytest
from tests.libs.runtime.http.sample import Sample, alive

async def test_it(made: Sample):
    async with alive(made.app), made.client() as c:
        r = await c.post("/v1/notes", json={"text":"hi"}, headers={"Idempotency-Key":"k"})
        print(r.status_code, r.text, r.headers)
        r = await c.post("/v1/notes", json={"text":"hi"}, headers={"Idempotency-Key":"k"})
        print(r.status_code, r.text, r.headers)
        for p in ["/v1/notes","/v1/notes/x","/healthz","/readyz","/metrics","/docs","/docs/start.js","/openapi.json","/nope"]:
            r = await c.get(p); print(p, r.status_code, r.text[:3000])
        r = await c.delete("/v1/notes"); print(r.status_code, r.text, r.headers)
        r = await c.post("/v1/notes", json={"text":1, "x": 2}); print(r.status_code, r.text)
        r = await c.post("/v1/notes", json={"text":"1", "success_criteria": {"criteria": [{"metric":"a b"}]}}); print(r.status_code, r.text)
    async with made.client(None) as c:
        r = await c.post("/v1/notes", json={"text":"hi"}); print(r.status_code, r.text, r.headers)
    import asyncio
    print(made.events, made.timers)
