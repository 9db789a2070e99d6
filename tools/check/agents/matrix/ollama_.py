import ollama

from common import BASE, LLAMA, part, play

client = ollama.Client(host=BASE)


def read_part(k: int) -> str:
    """Reads one part."""
    return part(k)


def start():
    messages = []

    def ask(prompt):
        messages.append({"role": "user", "content": prompt})
        while True:
            reply = client.chat(model=LLAMA, messages=messages, tools=[read_part]).message
            messages.append(reply)
            if not reply.tool_calls:
                return reply.content
            for call in reply.tool_calls:
                text = part(call.function.arguments["k"])
                messages.append({"role": "tool", "content": text, "tool_name": call.function.name})

    return ask


play(start)
