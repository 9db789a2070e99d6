// Package settings is what a person can set: one TOML file, environment variables and
// flags, laid over the defaults in this order. The comments of Settings' fields are the
// manual; Example prints them, so that there is no second text to keep true.
//
// Load reads all sources and checks every value. A key that there is not is an error
// that names the nearest one; a value that cannot be is an error that names file and
// line, variable or flag, the key, and what to write. A threshold outside its bounds
// only warns (SPEC B4). Every value knows its source. Secrets are in no error, and in
// nothing that is printed.
//
// Watch tells when the files that were read have changed. A file that cannot be used is
// told, and whoever watches keeps what they have.
package settings
