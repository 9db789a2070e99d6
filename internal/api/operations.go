package api

import (
	"net/http"
	"reflect"
)

// route is one operation of the API. openapi.json is made of the routes, of the types of their
// bodies and answers, and of the comments of these: see description_test.go.
type route struct {
	method, path string
	// id names the operation. summary is what it does, about is what else callers should know.
	id, summary, about string
	query              []*parameter
	// body is the most bytes of its body, 0 if it has none; example is one.
	body    int64
	example any
	// stream is the type of an answer that the route writes itself; empty for the others.
	stream string
	// errors are the statuses of errors that not every route has.
	errors []int
	handler
}

// handler does the work of a route.
type handler struct {
	do func(*request) (any, error)
	// order and answer are the types of the body and of the answer; order is nil without a body.
	order, answer reflect.Type
}

// answers returns the handler of a route without a body.
func answers[A any](do func(*request) (A, error)) handler {
	return handler{func(q *request) (any, error) { return do(q) }, nil, reflect.TypeFor[A]()}
}

// obeys returns the handler of a route whose body is an order O.
func obeys[O, A any](do func(*request, *O) (A, error)) handler {
	return handler{func(q *request) (any, error) {
		order := new(O)
		if err := q.decode(order); err != nil {
			return nil, err
		}
		return do(q, order)
	}, reflect.TypeFor[O](), reflect.TypeFor[A]()}
}

// The most bytes of bodies: of orders, and of a body to fit.
const (
	smallBody = 256 << 10
	fitBody   = 64 << 20
)

// one is the path of a conversation.
const one = "conversations/{conversation}"

// The statuses of errors of routes that look for something, and of those that change it.
var (
	looks   = []int{http.StatusNotFound}
	changes = []int{http.StatusNotFound, http.StatusConflict}
)

// routes are all operations.
var routes = []route{
	{method: "GET", path: "openapi.json", id: "openapi", summary: "This description",
		handler: answers((*request).openAPI)},
	{method: "GET", path: "health", id: "health", summary: "How the server is", handler: answers((*request).health)},
	{method: "GET", path: "overview", id: "overview", summary: "The day so far", query: []*parameter{zoneParam},
		handler: answers((*request).overview)},
	{method: "GET", path: "usage", id: "usage", summary: "What calls used and cost", errors: looks,
		query:   []*parameter{byParam, sinceParam, onlyConversation, zoneParam},
		handler: answers((*request).usage)},
	{method: "GET", path: "cache", id: "cache",
		summary: "What was read from providers' caches, and why not more",
		query:   []*parameter{sinceParam, zoneParam}, handler: answers((*request).cache)},
	{method: "GET", path: "composition", id: "dayComposition", summary: "What filled the windows of all calls",
		query: []*parameter{sinceParam, zoneParam}, handler: answers((*request).dayComposition)},
	{method: "GET", path: "settings", id: "settings", summary: "The settings in effect, and where each comes from",
		handler: answers((*request).settings)},
	{method: "GET", path: "models", id: "models", summary: "The model table, and what was learnt about providers",
		handler: answers((*request).modelTable)},
	{method: "GET", path: "conversations", id: "conversations",
		summary: "Conversations, the one that was used last first",
		query:   []*parameter{limitParam, cursorParam, projectParam, searchParam},
		handler: answers((*request).conversations)},
	{method: "GET", path: one, id: "conversation", summary: "A conversation with its notes", errors: looks,
		handler: answers((*request).conversation)},
	{method: "GET", path: one + "/export", id: "export", summary: "All messages as they came, one a line",
		about: "As `oriel export` writes them: byte for byte, but for line feeds within a message and the white space " +
			"around them.",
		errors: looks, stream: "application/x-ndjson", handler: answers((*request).export)},
	{method: "GET", path: one + "/strip", id: "strip",
		summary: "All messages in short, and what became of them at a call", errors: looks,
		query: []*parameter{viewParam, onlyParam}, handler: answers((*request).strip)},
	{method: "GET", path: one + "/messages", id: "messages", summary: "Whole messages", errors: looks,
		query:   []*parameter{fromParam, toParam, limitParam, cursorParam, viewParam},
		handler: answers((*request).messages)},
	{method: "GET", path: one + "/messages/{message}", id: "message",
		summary: "One message, and what each plan did to it", errors: looks, query: []*parameter{viewParam},
		handler: answers((*request).message)},
	{method: "GET", path: one + "/plans", id: "plans", summary: "Decisions about what is sent, newest first",
		errors: looks, query: []*parameter{limitParam, cursorParam}, handler: answers((*request).planList)},
	{method: "GET", path: one + "/plans/{plan}", id: "plan", summary: "A plan with its reasons", errors: looks,
		handler: answers((*request).plan)},
	{method: "GET", path: one + "/calls", id: "calls", summary: "Recorded calls", errors: looks,
		query: []*parameter{limitParam, cursorParam, orderParam}, handler: answers((*request).callList)},
	{method: "GET", path: one + "/calls/{call}", id: "call", summary: "A recorded call", errors: looks,
		handler: answers((*request).call)},
	{method: "GET", path: one + "/calls/{call}/sent", id: "sent",
		summary: "The body that was sent, its messages byte for byte", errors: looks, query: []*parameter{bodyParam},
		handler: answers((*request).sent)},
	{method: "GET", path: one + "/calls/{call}/composition", id: "composition",
		summary: "What filled the window of a call", errors: looks, handler: answers((*request).composition)},
	{method: "GET", path: one + "/calls/{call}/diff", id: "diff",
		summary: "What differs between what was sent at two calls", errors: looks, query: []*parameter{withParam},
		handler: answers((*request).diff)},
	{method: "POST", path: one + "/pins", id: "pin", summary: "Keep a message in view", errors: changes,
		body: smallBody, example: members{"id": 2}, handler: obeys((*request).pin)},
	{method: "DELETE", path: one + "/pins/{message}", id: "unpin", summary: "Stop keeping a message in view",
		errors: looks, handler: answers((*request).unpin)},
	{method: "POST", path: one + "/private", id: "setPrivate",
		summary: "Keep a conversation out of recall in other conversations", errors: changes, body: smallBody,
		example: members{"private": true}, handler: obeys((*request).setPrivate)},
	{method: "POST", path: one + "/undo", id: "undo", summary: "Bring back what a plan took out of view",
		about:  "With `preview` nothing changes. If what comes back cannot fit, the answer is 409 with the numbers.",
		errors: changes, body: smallBody, example: members{"plan": "p1", "preview": true},
		handler: obeys((*request).undo)},
	{method: "POST", path: one + "/release", id: "release", summary: "Let what undo brought back leave in its turn",
		errors: looks, body: smallBody, example: members{}, handler: obeys((*request).release)},
	{method: "POST", path: "recall", id: "recall", summary: "Find what a query needs in the history", errors: looks,
		body:    smallBody,
		example: members{"query": "which port does the service listen on?", "budget": 1024, "explain": true},
		handler: obeys((*request).recall)},
	{method: "POST", path: "fit", id: "fit", summary: "Fit one request body to a budget, without any state",
		errors: []int{http.StatusUnprocessableEntity}, body: fitBody, example: members{"budget": 8000,
			"body": members{"model": "gpt-4o", "messages": []members{{"role": "user", "content": "Hello"}}}},
		handler: obeys((*request).fit)},
	{method: "GET", path: "events", id: "events", summary: "A stream of what happens",
		about: "Server-sent events. The first is `hello`. Each event has an id, its kind (`call`, `truncation`, " +
			"`condensation`, `resize`, `recall`, `overflow`, `pin`, `undo`, `release`, `fail-open`, …) and the JSON of a " +
			"line of `--events`. Two kinds have no id: `history`, another process has changed the history, and " +
			"`running`, with the calls that have not ended whenever one begins or ends. A comment comes every 15 " +
			"seconds. A reader that is too slow loses events and is sent `dropped` with their number.",
		query: []*parameter{eventsOf, afterParam}, stream: "text/event-stream", handler: answers((*request).events)},
}

// members are those of a JSON object.
type members = map[string]any

// parameter is a parameter of a query or of a path.
type parameter struct {
	name, about string
	// values are those that it may have, the default first.
	values []string
	// whole marks a whole number of at least least and, unless that is 0, at most most.
	whole       bool
	least, most int64
	// byDefault is what its absence means, where that is a value; example is one.
	byDefault, example any
}

// maxMessage is above every id of a message.
const maxMessage = 1 << 40

// The parameters of queries.
var (
	limitParam = &parameter{name: "limit", about: "The most items of a page.", whole: true, least: 1, most: maxPage,
		byDefault: defaultPage}
	cursorParam = &parameter{name: "cursor", about: "The `next` of the page before."}
	zoneParam   = &parameter{name: "zone", about: "The time zone of days and hours, by its IANA name.",
		byDefault: "UTC", example: "Europe/Berlin"}
	byParam = &parameter{name: "by", about: "What a row covers. Default: day.",
		values: []string{"day", "hour", "week", "month", "model", "project", "conversation"}}
	sinceParam = &parameter{name: "since", about: "A date, a time (RFC 3339), or a span such as 24h or 7d.",
		example: "7d"}
	onlyConversation = &parameter{name: "conversation", about: "Only this conversation."}
	projectParam     = &parameter{name: "project", about: "Only those of a project: its path, or the end of it."}
	searchParam      = &parameter{name: "search",
		about: "Only those that have every word, in the title, the id, the project or a message."}
	viewParam = &parameter{name: "call",
		about: "The call whose view is meant: its number, its id, or `last`, the default."}
	onlyParam = &parameter{name: "only", about: "`verdicts` leaves out what does not differ between calls.",
		values: []string{"all", "verdicts"}}
	fromParam = &parameter{name: "from", about: "The first message. Default 1.", whole: true, least: 1,
		most: maxMessage}
	toParam = &parameter{name: "to", about: "The last message. Default: the newest.", whole: true, least: 1,
		most: maxMessage}
	orderParam = &parameter{name: "order", about: "`desc`, the default, is newest first.",
		values: []string{"desc", "asc"}}
	bodyParam = &parameter{name: "body", about: "`came` is the body as it came.", values: []string{"sent", "came"}}
	withParam = &parameter{name: "with",
		about: "The other call, or `came` for the body as it came. Default: the call before."}
	eventsOf   = &parameter{name: "conversation", about: "Only events of this conversation, by its whole id."}
	afterParam = &parameter{name: "after", whole: true,
		about: "Also send the events after this id that are still kept; as the header Last-Event-ID."}
)

// inPaths are the parameters of paths.
var inPaths = []*parameter{
	{name: "conversation",
		about:   "The id of a conversation, the unique beginning of one, or `last`. Write `/` as `%2F`.",
		example: "settle"},
	{name: "message", about: "The number of a message in its conversation.", whole: true, least: 1, example: 2},
	{name: "call", about: "The number of a call in its conversation, from 1 on, its id, or `last`.", example: "last"},
	{name: "plan", about: "The id of a plan, such as `p3`, or `last`.", example: "last"},
}
