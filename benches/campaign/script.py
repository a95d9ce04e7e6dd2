"""What a careful person would write instead: aiohttp on uvloop, one task per request in flight, and each answer as a line
of JSON. It reads the prepared requests of the bare client, and has no ledger, no budget and no rate limit."""

import asyncio
import json
import sys

import aiohttp
import uvloop


async def worker(session, url, lines, results):
    for line in lines:
        key, body = line.rstrip("\n").split(" ", 1)
        headers = {"x-api-key": "bench-key", "idempotency-key": key, "content-type": "application/json"}
        async with session.post(url, data=body.encode(), headers=headers) as response:
            if response.status != 200:
                raise SystemExit(f"HTTP {response.status}")
            answer = await response.json()
        matches = answer["results"]["match"]
        row = {"key": key, "matches": len(matches), "answer": answer}
        results.write(json.dumps(row) + "\n")


async def main(url, requests, in_flight):
    with open(requests, encoding="utf-8") as lines, open(f"{requests}.jsonl", "w", encoding="utf-8") as results:
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector) as session:
            workers = (worker(session, f"{url}/aml-screening", lines, results) for _ in range(in_flight))
            await asyncio.gather(*workers)


uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
