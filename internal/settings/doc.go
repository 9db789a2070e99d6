// Package settings loads Oriel's settings from one TOML file, environment variables and
// flags. Later sources override earlier ones, and all override the defaults. The
// comments of Settings' fields are the manual; Example prints them, so that there is no
// second text to keep true.
//
// Load reads all sources and checks every value. The error for an unknown key suggests
// the nearest one; the error for an invalid value names the file and line, variable or
// flag, the key, and what to write. A threshold outside its bounds only warns (SPEC
// B4). The source of every value is known. Errors and printed settings never contain
// secrets.
//
// Watch reports when the loaded files change. It reports a file that cannot be used as
// an error, so that the caller keeps its settings.
package settings
