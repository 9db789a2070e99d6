package report

// The answers to changes of a conversation have one JSON form each in the API, the command line
// and MCP. Conversation is its id.

// Pin is a message and whether it is pinned.
type Pin struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Pinned       bool   `json:"pinned"`
}

// Private is a conversation and whether it is private: then other conversations do not find what
// was said in it.
type Private struct {
	Conversation string `json:"conversation"`
	Private      bool   `json:"private"`
}

// Released is a conversation whose holds have ended.
type Released struct {
	Conversation string `json:"conversation"`
	// Released reports whether anything was held.
	Released bool `json:"released"`
}

// Difference is what differs between the bodies that were sent at two calls.
type Difference struct {
	Conversation string `json:"conversation"`
	// From is the call whose body is compared, To the one with which it is.
	From Call `json:"from"`
	// Came reports that the body of From is taken as it came, not as it was sent.
	Came    bool     `json:"came"`
	To      Call     `json:"to"`
	Changes []Change `json:"changes"`
}
