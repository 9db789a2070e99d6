// Package browser holds the tests of the console in a real browser: Debian's chromium, driven
// over its own protocol, against the program as it is built from this tree. It is a module
// of its own, so that users of Oriel do not inherit the driver.
//
// Where there is no chromium the tests are skipped with one line.
package browser
