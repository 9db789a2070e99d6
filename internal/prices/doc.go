// Package prices reads public price files into snapshots for the table of models of package
// token: LiteLLM's model_prices_and_context_window.json, as such or in LiteLLM's wheel, and
// the form in which Oriel stores a snapshot.
//
// Of LiteLLM's file it takes what vendors themselves sell. The same models at clouds and
// hosts are left out: the table finds them by the name of the model, whatever stands before
// it, and the price of a host cannot be told from that. Names of a model that differ by a
// date only, and say the same, are one.
//
// Files may come from anywhere: sizes and counts are bounded, and a number that cannot be a
// price or a window is refused with the model and the field.
package prices
