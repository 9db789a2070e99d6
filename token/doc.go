// Package token counts the tokens of a request before it is sent, knows the limits and
// prices of models, and learns from what providers report.
//
// # Models
//
// [Builtin] is a table of models: window, largest input and output, prices, cache rules,
// how text and pictures are counted. Every entry says where its figures come from and
// when they were looked up; an entry with any figure that no vendor page states has the
// confidence "reported". [LoadModels] merges a file of the same format into it, field by
// field. [Models.Lookup] accepts any common spelling of a model's name (dated snapshots,
// cloud prefixes and suffixes) and never fails: an unknown name gets cautious figures,
// with Known false.
//
// # What is exact and what is not
//
// Every number carries an [Accuracy]:
//
//   - exact: the text was counted with the encoding that the vendor published
//     for this model, messages by OpenAI's documented rule (3 tokens each, its
//     role, 1 for a name, 3 to prime the reply), function definitions by the
//     rule of OpenAI's cookbook as long as they are flat, pictures of known
//     size by the vendor's published rule.
//   - estimate: everything else. Text is the count of a public encoding times
//     the model's multiplier, with structural costs from the table.
//   - calibrated: an estimate corrected by usage that the provider reported
//     for this model (see [Calibration]), with its error bar. A request that is
//     smaller than all that were observed is corrected, too, and stays an
//     estimate, because its error is not known.
//
// The count of a whole is as good as its worst part. Estimates lean high by a
// few percent, since a context that is cut late is refused while one that is
// cut early only loses a little room.
//
// # Rules of estimation
//
//   - An empty content is 0. What a message costs beyond its content is
//     structure and belongs to the request ([Breakdown.Overhead]).
//   - Tool calls are name and arguments, results their content, both with a
//     structural cost.
//   - Whatever else the JSON of a part or message says (the output of a hosted
//     tool, a document's title, a field that this version does not know) is
//     counted as text, on the high side. Ids, cache marks and logprobs cost
//     nothing; pictures and encrypted text in it have their own rules.
//   - Tool definitions are walked as JSON schemas; what the walk has no rule
//     for is counted as the JSON text that it is.
//   - Pictures: the model's published rule where the size can be read from the
//     first bytes (PNG, JPEG, GIF, WebP), ceil(ceil(sqrt(base64 length))·1.5)
//     for inline data of unknown size, a default for references.
//   - Documents: their text, or pages guessed from the size of the file.
//     Recordings: seconds guessed from the size.
//   - Thinking is always counted. Anthropic leaves thinking of earlier turns
//     out but counts it inside a tool loop; which of the two applies is decided
//     by the provider, so counting it is the safe side.
//   - Encrypted, redacted or signed text: a token for every 16/3 characters
//     (base64 of about four bytes a token). Reasoning is the larger of that and
//     what can be read of it.
//   - Parts without a meaning here: the whole of their JSON as text.
//
// # Caveats
//
// A [Cache] trusts that Raw is what Parts say: whoever edits a message's parts
// must drop its Raw, and a part's Raw likewise is taken for what the part says.
// References (a file id, item_reference) stand for content that only the
// provider sees; they are guesses until calibrated. A [Counter] never changes,
// so that the same request counts the same; take a new one to use a newer
// [Scale].
package token
