/*
Package eval measures how much of what a question needs is recalled. It uses conversations
whose questions name the messages with the answer, and coding sessions whose agents read
again what their window no longer shows. Run measures recall; Answer asks a model the
questions and compares its answers with those of the set.

A message counts only if its whole text is in the context that a model would be given; a
second figure counts long messages of which a passage is. The budget covers the whole
context, in o200k_base tokens. All policies are packed and written by the same code, so
they differ only in what they choose.

# Caveats

Evidence labels are made by people and models, and some are wrong. Recall shows that the
evidence is there, not that a model makes good use of it.
*/
package eval
