import dspy

from common import ANOTHER, OPENAI, PARTS, QUESTION, part

dspy.configure(lm=dspy.LM("openai/gpt-4o", api_base=OPENAI, api_key="none", cache=False))


class Talk(dspy.Signature):
    question: str = dspy.InputField()
    history: dspy.History = dspy.InputField()
    answer: str = dspy.OutputField()


def start():
    predict, history = dspy.Predict(Talk), dspy.History(messages=[])

    def ask(prompt):
        answer = predict(question=prompt, history=history).answer
        history.messages.append({"question": prompt, "answer": answer})
        return answer

    return ask


ask = start()
for k in range(1, PARTS + 1):
    ask(f"Explain part number {k}." + (" " + part(k).split("\n")[0] if k == 3 else ""))
print(ask(QUESTION))
print(start()(ANOTHER))
