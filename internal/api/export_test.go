package api

// MaxShareForTest is how many requests of one tenant are worked on at a time.
const MaxShareForTest = maxShare
