"""The client of openai with memory: `muniment proxy start` runs, and its token stands where the provider's key stood.

muniment proxy token create
MUNIMENT_TOKEN=mun_… OPENAI_MODEL=gpt-… python proxy_client.py"""

import os

from openai import OpenAI

base_url = os.environ.get("MUNIMENT_PROXY_URL", "http://localhost:8000/v1")
with OpenAI(base_url=base_url, api_key=os.environ["MUNIMENT_TOKEN"]) as client:
    for text in ("My favourite colour is teal.", "What is my favourite colour?"):
        answer = client.chat.completions.create(
            model=os.environ["OPENAI_MODEL"], messages=[{"role": "user", "content": text}]
        )
        print(f"you> {text}\n{answer.choices[0].message.content}")
