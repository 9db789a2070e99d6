import anthropic
from anthropic import beta_tool

from common import BASE, CLAUDE, part, play

client = anthropic.Anthropic(base_url=BASE)


@beta_tool
def read_part(k: int) -> str:
    """Reads one part."""
    return part(k)


def start():
    messages = []

    def ask(prompt):
        messages.append({"role": "user", "content": prompt})
        # Without thread=False the runner sends new messages only, and the server holds the others.
        runner = client.beta.messages.tool_runner(
            model=CLAUDE, max_tokens=2000, tools=[read_part], messages=list(messages), stream=True, thread=False
        )
        for stream in runner:
            reply = stream.get_final_message()
            results = runner.generate_tool_call_response()
            messages.append({"role": "assistant", "content": reply.content})
            if results:
                messages.append(results)
        return reply.content[-1].text

    return ask


play(start)
