package mcp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

// resourcePrefix begins the URI of a conversation, which ends in its escaped id.
const resourcePrefix = "oriel://conversations/"

// mimeText is the type of a conversation that is read.
const mimeText = "text/plain"

// pageSize is how many conversations a page of resources has.
const pageSize = 50

func (t *tools) addResources(s *sdk.Server) {
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "conversation", Title: "A conversation", URITemplate: resourcePrefix + "{conversation}",
		MIMEType:    mimeText,
		Description: "The newest messages of a conversation, quoted, as far as one answer has room. The tool read shows any others.",
	}, t.readResource)
	// The SDK lists what was added; these change with every call.
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if list, ok := req.(*sdk.ListResourcesRequest); ok {
				return t.listResources(ctx, list)
			}
			return next(ctx, method, req)
		}
	})
}

// listResources lists the conversations that were used last.
func (t *tools) listResources(ctx context.Context, req *sdk.ListResourcesRequest) (*sdk.ListResourcesResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	r, err := t.open(ctx, "", nil)
	if err != nil {
		return &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}, nil // there is none yet
	}
	list, _, err := t.conversations(ctx, r, "", time.Time{}, pageSize)
	if err != nil {
		return nil, t.explain(err)
	}
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	for i := range list {
		c := &list[i]
		out.Resources = append(out.Resources, &sdk.Resource{
			URI: resourcePrefix + url.PathEscape(c.ID), Name: c.ID, Title: c.Title, MIMEType: mimeText,
			Description: strings.TrimSuffix(fmt.Sprintf("%d messages, last used %s, %s", c.Messages, c.Last,
				report.Line(c.Project, maxTitle)), ", "),
		})
	}
	return out, nil
}

// readResource returns the newest messages of a conversation that fit.
func (t *tools) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	escaped, _ := strings.CutPrefix(req.Params.URI, resourcePrefix)
	name, err := url.PathUnescape(escaped)
	if err != nil || name == "" {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	r, err := t.open(ctx, "", nil)
	if err != nil {
		return nil, t.explain(err)
	}
	c, err := r.Store.Conversation(ctx, t.o.Tenant, name)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	if hides, err := t.hides(ctx, r, c.Name); err != nil {
		return nil, t.explain(err)
	} else if hides {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	first, err := t.newest(ctx, r, &c)
	if err != nil {
		return nil, t.explain(err)
	}
	out, err := t.messages(ctx, r, &c, first, c.Head.Depth, 0)
	if err != nil {
		return nil, t.explain(err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: mimeText,
		Text: out.text()}}}, nil
}

// mostNewest is how many messages of a conversation are read as a resource at most.
const mostNewest = 50

// newest returns the first of the newest messages that fit into one answer.
func (t *tools) newest(ctx context.Context, r *request, c *timeline.Conversation) (int64, error) {
	reader, err := report.NewReader(ctx, r.Store, t.o.Tenant, c, c.Head)
	if err != nil {
		return 0, err
	}
	from := max(1, c.Head.Depth-mostNewest+1)
	var sizes []int
	if err := reader.Read(ctx, from, c.Head.Depth, func(m *report.Message) error {
		sizes = append(sizes, answerBytes(quote.Text("", m.Text)))
		return nil
	}); err != nil {
		return 0, err
	}
	first, room := c.Head.Depth, maxText
	for i, size := range slices.Backward(sizes) {
		if room -= size; room < 0 {
			break
		}
		first = from + int64(i)
	}
	return first, nil
}
