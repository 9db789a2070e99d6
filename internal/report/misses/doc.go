// Package misses says of every recorded call how much of its prompt the provider read from its
// cache, how much more it could have read, and why it did not.
//
// A call could read what the call before it in the conversation was sent with, too. The reason
// follows from what is recorded: when both calls were made, the bodies that were sent, the plan by
// which something left, and the usage that the provider reported. Calls without reported usage have
// no figures. Reasons are found when somebody asks, from the bodies of those calls alone that have a
// miss; nothing is stored for them.
package misses
