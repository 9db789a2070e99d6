package oriel

// What the tests of calls need of the engine's parts.
type (
	CallsOptions = callsOptions
	Calls        = calls
)

var (
	NewCalls = newCalls
)

var DefaultStoreWait = Waits{}.withDefaults().Store

func (r *calls) Change(o CallOptions) { r.change(o) }
