import json

from openai import OpenAI

from common import GPT, MODE, OPENAI, part, play

client = OpenAI(base_url=OPENAI)
schema = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"], "additionalProperties": False}


def responses():
    items = []
    tool = {"type": "function", "name": "read_part", "description": "Reads one part.", "parameters": schema, "strict": True}

    def ask(prompt):
        items.append({"role": "user", "content": prompt})
        while True:
            with client.responses.stream(model=GPT, input=items, tools=[tool], store=False,
                                         include=["reasoning.encrypted_content"]) as stream:
                reply = stream.get_final_response()
            items.extend(o.model_dump(exclude_none=True, exclude={"parsed_arguments", "status"}) for o in reply.output)
            calls = [o for o in reply.output if o.type == "function_call"]
            if not calls:
                return reply.output_text
            for call in calls:
                text = part(json.loads(call.arguments)["k"])
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})

    return ask


def chat():
    messages = [{"role": "system", "content": "You answer briefly."}]
    tool = {"type": "function", "function": {"name": "read_part", "description": "Reads one part.", "parameters": schema, "strict": True}}

    def ask(prompt):
        messages.append({"role": "user", "content": prompt})
        while True:
            with client.chat.completions.stream(model=GPT, messages=messages, tools=[tool],
                                                stream_options={"include_usage": True}) as stream:
                reply = stream.get_final_completion().choices[0].message
            calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
                     for c in reply.tool_calls or []]
            messages.append({"role": "assistant", "content": reply.content, **({"tool_calls": calls} if calls else {})})
            if not calls:
                return reply.content
            for call in calls:
                text = part(json.loads(call["function"]["arguments"])["k"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    return ask


play(chat if MODE == "chat" else responses)
