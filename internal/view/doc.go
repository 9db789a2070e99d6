// Package view decides what a model is shown of a request, call after call.
// The agent keeps resending everything; the model gets a bounded view whose
// beginning does not change from one call to the next.
//
// A decision is a [plan.Plan]: which of the history's first messages are left out, and
// which are sent with other bytes. It belongs to a message of the history and
// applies to everything that continues from there: the same messages are left
// out again, the same bytes are sent again, and what is new follows unchanged.
// Only if the view exceeds its budget is there a new cut, a deep one, down to
// the low mark.
//
// # Guarantees
//
//   - A view is within its budget, or the error explains with numbers why none
//     is.
//   - Between two cuts the view of a call begins with the previous view, byte
//     for byte, except for cache marks.
//   - If nothing was ever cut, the body is sent unchanged.
//   - Parallel calls on one history make one cut: the second call uses the cut
//     of the first.
//   - The same history, settings and clock give the same view.
//   - A cut applies to one model. Another model has other limits and nothing
//     of it in its cache: it begins with the whole history, within its own
//     budget.
//   - A model that binds its thinking to what precedes it is sent no thinking
//     after a change.
//
// # Caveats
//
// After a restart the cuts on the path to the conversation's head are known,
// and of other branches those that they share with it.
package view
