// Package secret keeps credentials out of what is stored and shown.
//
// [Keys] are the credentials of one call: the values in its headers and query with
// which a provider authenticates the caller. [Keys.Clean] removes them from a text that
// others wrote, such as a provider's error, in any spelling: parts of them, other case,
// escapes of JSON, URLs and HTML.
//
// [Strip] removes the credentials for tool servers from a JSON text. It walks the
// values and uses the names of members, so that no spelling of the JSON hides one.
//
// Neither looks at what people and models write: text of a conversation stays
// unchanged.
package secret
