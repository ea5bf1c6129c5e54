"""The built server under the official Python SDK client, in both protocol eras."""

import asyncio
import json
import os
import subprocess
import sys
import traceback
import urllib.request

from mcp import Client, StdioServerParameters

ID = "7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b47"
GOOD_CALLS = [
    ("check", {"action": "refund the booking"}),
    ("get_receipt", {"receipt_id": ID}),
    ("add_source", {"kind": "entity", "name": "Contoso"}),
    ("list_sources", {}),
    ("remove_source", {"id": ID}),
    ("report_outcome", {"id": ID, "kind": "relied_and_correct"}),
    ("verify", {"conclusion": "The policy is current.", "evidence_refs": ["https://contoso.example/"]}),
]
# The handshake of the legacy versions, discovery with fallback, and the modern version alone.
MODES = ["legacy", "auto", "2026-07-28"]


class FakeApi:
    """The fake API as a process; `script` queues replies, `seen` gives the requests."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["FAKE_API_BIN"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def _control(self, method, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_control", data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def script(self, *replies):
        self._control("POST", {"replies": list(replies)})

    def seen(self):
        return self._control("GET")

    def reset(self):
        self._control("DELETE")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


API = FakeApi()


def connect(mode, **env):
    API.reset()
    parameters = StdioServerParameters(
        command=os.environ["KAVAL_MCP_BIN"],
        env={"KAVAL_API_KEY": "kv_live_sdk_test", "KAVAL_BASE_URL": API.url, "KAVAL_LOG": "off", **env},
    )
    return Client(parameters, mode=mode)


def error_of(result):
    assert result.is_error is True, result
    assert result.structured_content is None, result
    return json.loads(result.content[0].text)


async def until(done, limit=5.0):
    end = asyncio.get_running_loop().time() + limit
    while not done():
        assert asyncio.get_running_loop().time() < end, "waited in vain"
        await asyncio.sleep(0.01)


async def lists_the_tools(mode):
    async with connect(mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [name for name, _ in GOOD_CALLS]
        assert all(tool.title and tool.description and tool.output_schema for tool in tools)


async def negotiates(mode):
    async with connect(mode) as client:
        expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
        assert client.session.protocol_version == expected, client.session.protocol_version


async def calls_every_tool(mode):
    async with connect(mode) as client:
        # Listing first makes the SDK validate structured content against the output schemas.
        await client.list_tools()
        for name, arguments in GOOD_CALLS:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            assert json.loads(result.content[0].text) == result.structured_content
        assert len(API.seen()["requests"]) == len(GOOD_CALLS)


async def reports_api_errors_in_band(mode):
    async with connect(mode) as client:
        await client.list_tools()
        for status, code in [(401, "unauthorized"), (402, "insufficient_balance"), (404, "not_found"), (500, "internal")]:
            for name, arguments in GOOD_CALLS:
                API.script({"path": "/", "status": status, "body": json.dumps({"error": {"code": code, "message": "no"}})})
                body = error_of(await client.call_tool(name, arguments))
                assert body == {"error": code, "message": "no", "status": status}, body


async def refuses_invalid_arguments(mode):
    async with connect(mode) as client:
        body = error_of(await client.call_tool("check", {"action": "", "mode": "slow"}))
        assert body["error"] == "invalid_arguments" and len(body["issues"]) == 2, body
        assert API.seen()["requests"] == []


async def repeats_verify_under_one_key(mode):
    async with connect(mode) as client:
        API.script({"path": "/v1/verify", "fault": "reset"})
        assert not (await client.call_tool(*GOOD_CALLS[6])).is_error
        keys = [request["headers"]["idempotency-key"] for request in API.seen()["requests"]]
        assert len(keys) == 2 and keys[0] == keys[1], keys


async def reports_progress(mode):
    async with connect(mode) as client:
        API.script({"path": "/v1/check", "delay_ms": 5600})
        reports = []

        async def note(progress, total, message):
            reports.append(progress)

        result = await client.call_tool("check", {"action": "a"}, progress_callback=note)
        assert not result.is_error
        assert len(reports) == 1 and reports[0] > 0, reports


async def closes_upstream_when_cancelled(mode):
    async with connect(mode) as client:
        API.script({"path": "/v1/check", "fault": "stall", "after": 4})
        call = asyncio.create_task(client.call_tool("check", {"action": "a"}))
        await until(lambda: len(API.seen()["requests"]) == 1)
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            pass
        await until(lambda: API.seen()["aborted"] == 1)
        assert not (await client.call_tool("list_sources", {})).is_error


async def answers_many_at_once(mode):
    async with connect(mode) as client:
        results = await asyncio.gather(*(client.call_tool("check", {"action": "a"}) for _ in range(100)))
        assert not any(result.is_error for result in results)


async def lists_without_a_key(mode):
    async with connect(mode, KAVAL_API_KEY="") as client:
        assert len((await client.list_tools()).tools) == 7
        assert error_of(await client.call_tool("check", {"action": "a"}))["error"] == "missing_api_key"


async def starts_from_the_sample_configuration(mode):
    with open(os.path.join(os.environ["KAVAL_ROOT"], "mcp.json"), encoding="utf-8") as file:
        entry = json.load(file)["mcpServers"]["kaval"]
    assert (entry["command"], entry["args"]) == ("kaval-mcp", []), entry
    async with connect(mode, **entry["env"]) as client:
        assert (await client.call_tool("check", {"action": "a"})).is_error is False
    assert API.seen()["requests"][0]["headers"]["authorization"] == f"Bearer {entry['env']['KAVAL_API_KEY']}"


CASES = [
    lists_the_tools,
    negotiates,
    calls_every_tool,
    reports_api_errors_in_band,
    refuses_invalid_arguments,
    repeats_verify_under_one_key,
    reports_progress,
    closes_upstream_when_cancelled,
    answers_many_at_once,
    lists_without_a_key,
    starts_from_the_sample_configuration,
]


def main():
    failed = 0
    for mode in MODES:
        for case in CASES:
            try:
                asyncio.run(asyncio.wait_for(case(mode), 30))
                print(f"ok   python sdk: {case.__name__} ({mode})")
            except Exception:
                failed += 1
                print(f"FAIL python sdk: {case.__name__} ({mode})\n{traceback.format_exc()}")
    API.stop()
    total = len(CASES) * len(MODES)
    print(f"python sdk: {total - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
