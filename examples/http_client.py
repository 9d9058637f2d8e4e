"""The memory over HTTP, from any program: `muniment serve` runs, and a token says whose memory it is.

muniment token create --user example
MUNIMENT_TOKEN=mun_… python http_client.py"""

import os

import httpx

url, token = os.environ.get("MUNIMENT_URL", "http://127.0.0.1:8377"), os.environ["MUNIMENT_TOKEN"]
with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as memory:
    memory.post("/memories", json={"text": "I am allergic to peanuts"}).raise_for_status()
    answer = memory.post("/memory/query", json={"agent": "supervisor", "query": "what must I not eat?"})
    for hit in answer.raise_for_status().json()["results"]:
        print(hit["text"])
