import json

import litellm

from common import BASE, CLAUDE, GEMINI, LLAMA, MODE, OPENAI, part, play

model, base = {
    "messages": ("anthropic/" + CLAUDE, BASE),
    "ollama": ("ollama_chat/" + LLAMA, BASE),
    "gemini": ("gemini/" + GEMINI, BASE),
}.get(MODE, ("openai/gpt-4o", OPENAI))
schema = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}
tool = {"type": "function", "function": {"name": "read_part", "description": "Reads one part.", "parameters": schema}}


def start():
    messages = [{"role": "system", "content": "You answer briefly."}]

    def ask(prompt):
        messages.append({"role": "user", "content": prompt})
        while True:
            chunks = list(litellm.completion(model=model, api_base=base, api_key="none", messages=messages, tools=[tool],
                                             stream=True, stream_options={"include_usage": True}))
            reply = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
            messages.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                return reply.content
            for call in reply.tool_calls:
                text = part(json.loads(call.function.arguments)["k"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    return ask


play(start)
