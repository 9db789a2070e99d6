from google import genai
from google.genai import types

from common import BASE, GEMINI, part, play

client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=BASE))


def read_part(k: int) -> str:
    """Reads one part."""
    return part(k)


def start():
    calls = types.AutomaticFunctionCallingConfig(maximum_remote_calls=400)
    chat = client.chats.create(model=GEMINI, config=types.GenerateContentConfig(tools=[read_part], automatic_function_calling=calls))
    return lambda prompt: chat.send_message(prompt).text


play(start)
