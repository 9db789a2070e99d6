package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/dryrun"
	"github.com/oriel-context/oriel/window"
)

// each is the size of a message of which a case says nothing: far larger than a marker.
const each = 1000

// slide returns the settings of a sliding window that nothing but its number of messages
// limits.
func slide(limit int) dryrun.Input {
	return dryrun.Input{Policy: "slide", Budget: plenty, Low: plenty, Mode: string(window.Hard), MaxItems: limit}
}

func slidingApply(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		WindowSize    int  `json:"window_size"`
		OverflowError bool `json:"overflow_error"`
		Messages      []message
		// TruncateResults must be false: our window leaves the sizes of results alone.
		TruncateResults bool `json:"truncate_results"`
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	if in.TruncateResults {
		return nil, errors.New("truncate_results is not a part of our sliding window: it must be false")
	}
	limit := in.WindowSize
	if limit == 0 {
		limit = 1 // to us 0 means the default; no view is smaller than one message
	}
	o := slide(limit)
	o.Over = len(in.Messages) > in.WindowSize
	if in.OverflowError {
		o.Mode, o.Over = string(window.Recovery), true
	}
	all := ids(in.Messages, slices.Repeat([]bool{true}, len(in.Messages)), true)
	d, err := decide(o, in.Messages, each)
	if errors.Is(err, window.ErrCannotFit) {
		return map[string]any{"error": "overflow", "ids": all, "removed": 0}, nil
	}
	if err != nil {
		return map[string]any{"error": refused, "detail": err.Error(), "ids": all, "removed": 0}, nil
	}
	shown := ids(in.Messages, d.Shown, true)
	return map[string]any{"ids": shown, "removed": len(all) - len(shown), "error": nil}, nil
}

// slidingNew answers what a sliding window is made with. The number of messages is
// checked by the policy, the threshold by those of condensing. Our policies decide at
// every request and have no turns.
func slidingNew(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		WindowSize           *int     `json:"window_size"`
		CompressionThreshold *float64 `json:"compression_threshold"`
		PerTurn              any      `json:"per_turn"` // see overruled.go
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	got := map[string]any{"window_size": window.DefaultSlide, "truncate_results": true, "per_turn": false,
		"compression_threshold": nil, "error": nil}
	if in.WindowSize != nil {
		got["window_size"] = *in.WindowSize
		if _, err := decide(slide(*in.WindowSize), nil, each); err != nil {
			return map[string]any{"error": refused, "detail": err.Error()}, nil
		}
	}
	if in.CompressionThreshold != nil {
		percent, warning := window.Thresholds{Global: 100 * *in.CompressionThreshold}.For(window.Profile{})
		got["compression_threshold"], got["warning"], got["warning_text"] = percent/100, warning != "", warning
	}
	return got, nil
}

func truncateResult(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		Items []struct {
			Type             string
			AlreadyTruncated bool `json:"already_truncated"`
			Runs             [][2]any
			Format           string
			Bytes            int
		}
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	result := chat.Part{Kind: chat.Result}
	for _, item := range in.Items {
		if item.Type != "text" {
			data := base64.StdEncoding.EncodeToString(make([]byte, item.Bytes))
			result.Parts = append(result.Parts, chat.Part{Kind: chat.Image, Type: item.Type,
				Media: &chat.Media{Type: "image/" + item.Format, Data: []byte(data)}})
			continue
		}
		var b strings.Builder
		for i, r := range item.Runs {
			if i == 1 && item.AlreadyTruncated {
				b.WriteString(elisionMarker())
			}
			b.WriteString(strings.Repeat(r[0].(string), int(r[1].(float64))))
		}
		result.Parts = append(result.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(b.String())})
	}
	short, removed, changed := clip.Result(&result, clip.Head, clip.Tail)
	got := map[string]any{"changed": changed, "removed_chars": removed, "status": "success", "prefix": nil,
		"suffix": nil, "images_replaced": 0, "placeholders": []string{}}
	if short.IsError {
		got["status"] = "error"
	}
	for i, p := range short.Parts {
		text := p.Text.String()
		switch {
		case result.Parts[i].Kind == chat.Image:
			got["images_replaced"] = got["images_replaced"].(int) + 1
			got["placeholders"] = append(got["placeholders"].([]string), text)
		case got["prefix"] == nil && clip.WithoutMiddle(text) && !clip.WithoutMiddle(result.Parts[i].Text.String()):
			got["prefix"], got["suffix"] = edge(text[:clip.Head]), edge(text[len(text)-clip.Tail:])
		}
	}
	return got, nil
}

// elisionMarker returns the marker by which our own elisions are recognised.
func elisionMarker() string {
	p := chat.Part{Kind: chat.Result, Text: chat.Quote(strings.Repeat("x", 1000))}
	short, _, _ := clip.Result(&p, 1, 1)
	text := short.Text.String()
	return text[1 : len(text)-1]
}

// edge describes a text of one letter: the letter and how often it comes.
func edge(s string) []any {
	return []any{s[:1], strings.Count(s, s[:1])}
}
