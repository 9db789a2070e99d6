// Package usage adds up what recorded calls used and cost, and what the same calls would
// have cost had everything been sent.
//
// A Ledger prices calls one after another; it is the only place where calls are priced.
// Read adds up the calls of a store, by day, week, month, model, project or conversation.
// ReadStatus is for status bars.
//
// Prices are those of the model table. The calls of a model without a price count, but
// have no cost: the model is listed instead. What a call would have cost is an estimate:
// see Ledger.Price. A sum never hides a call: failed ones and those of which the provider
// reported no usage are counted apart.
package usage
