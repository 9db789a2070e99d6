// Package view decides what a model is shown of a request, call after call: the agent
// keeps resending everything, the model gets a bounded view whose beginning does not
// change from one call to the next.
//
// What was decided once is a Cut: which of the history's first messages are left out,
// and which are sent with other bytes. It belongs to a message of the history, and
// holds for everything that goes on from there: the same messages are left out again,
// the same bytes are sent again, and what is new follows as it came. Only when the
// view is larger than its budget is there a new cut, a deep one, down to the low mark.
//
// # Guarantees
//
//   - A view is within its budget, or the error says with numbers why none is.
//   - Between two cuts the view of a call begins with the view of the last, byte for
//     byte, cache marks aside.
//   - Where nothing was ever cut the body is sent as it came.
//   - Calls in parallel on one history make one cut: who comes second uses the first.
//   - The same history, settings and clock give the same view.
//   - A cut holds for one model. Another one has other limits and none of it in its
//     cache: it begins with the whole history, within its own budget.
//   - A model that binds its thinking to what stands before it is sent none whose
//     beginning a cut has changed.
//
// # Caveats
//
// After a restart the cuts of the line at which a conversation ends are known, and of
// other branches those that they have in common with it.
package view
