// Package serve opens the server that oriel serve and oriel run have: the engine on a
// history, the proxy before it, the console, the API and MCP beside it, and what watches
// them: events, metrics, traces, the quality of cuts. A history that cannot be opened, or
// whose files somebody deletes, does not end a server: its calls wait on disk until it can
// be opened. Settings that change while it runs apply to the calls after that. Whoever opens
// a Gateway shuts it down; until then it has its files, its goroutines and its connections
// to the database.
package serve
