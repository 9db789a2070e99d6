// Package secret keeps credentials out of what is kept and told.
//
// [Keys] are the credentials of one call: the values of its headers and of its query by
// which a provider knows who calls. [Keys.Clean] takes them out of a text that others
// wrote, such as a provider's error, in whatever way they are written there: parts of
// them, other case, escapes of JSON, of URLs and of HTML.
//
// [Strip] takes out of a JSON text the credentials for servers of tools. It walks the
// values and goes by the names of members, so that no spelling of the JSON hides one.
//
// Neither looks into what people and models say: words of a conversation stay as they
// are.
package secret
