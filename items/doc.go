/*
Package items is the window of a conversation that is made of items and not of
requests.

[Window] has a token limit and an item limit that hold after every operation,
eviction by relevance or by age, and every eviction is returned. [Tracker] and
[Sizer] follow what the conversation is about and how large its window should be,
[Assemble] makes the text that a model is given.
*/
package items
