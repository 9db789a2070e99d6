package api

import "github.com/oriel-context/oriel/internal/report"

// privateOrder is whether a conversation is to be private.
type privateOrder struct {
	Private *bool `json:"private"`
}

// setPrivate keeps a conversation out of recall in other conversations, or lets them find
// it again.
func (q *request) setPrivate(order *privateOrder) (*report.Private, error) {
	c, err := q.find(q.Context())
	if err != nil {
		return nil, err
	}
	if order.Private == nil {
		return nil, badRequest(`send {"private":true}`, "the body has no %q", "private")
	}
	if _, err := q.Store.Apply(q.Context(), q.tenant, c.PrivateChange(*order.Private, q.Now())); err != nil {
		return nil, err
	}
	return &report.Private{Conversation: c.Name, Private: *order.Private}, nil
}
