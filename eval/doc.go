/*
Package eval measures how much of what a question needs recall brings back, on
conversations whose questions name the messages that hold the answer, and on coding
sessions, whose agents read again what their window no longer shows: Run. Answer puts
the questions to a model and compares its answers with those of the set.

A message counts only if its text stands in the context that a model would be given,
whole; for long messages a second figure counts those of which a passage does. The
budget is of the whole context, in o200k_base tokens. All policies are packed and
written by the same code, so that they differ in what they choose and in nothing else.

# Caveats

Evidence labels are made by people and models and are not all right. Recall says that
the evidence is there, not that a model makes good use of it.
*/
package eval
