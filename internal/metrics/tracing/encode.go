package tracing

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// encode writes spans of one provider as an ExportTraceServiceRequest of OTLP 1: the field
// numbers are those of opentelemetry/proto/trace/v1/trace.proto.
func encode(spans []sdktrace.ReadOnlySpan) []byte {
	var resource, scope, inScope []byte
	for _, kv := range spans[0].Resource().Attributes() {
		resource = appendMessage(resource, 1, keyValue(kv))
	}
	s := spans[0].InstrumentationScope()
	scope = appendText(appendText(scope, 1, s.Name), 2, s.Version)
	inScope = appendMessage(inScope, 1, scope)
	for _, span := range spans {
		inScope = appendMessage(inScope, 2, encodeSpan(span))
	}
	all := appendMessage(nil, 1, resource)
	all = appendMessage(all, 2, inScope)
	return appendMessage(nil, 1, all)
}

func encodeSpan(s sdktrace.ReadOnlySpan) []byte {
	own, parent := s.SpanContext(), s.Parent()
	trace, id := own.TraceID(), own.SpanID()
	b := appendMessage(nil, 1, trace[:])
	b = appendMessage(b, 2, id[:])
	b = appendText(b, 3, own.TraceState().String())
	if parent.HasSpanID() {
		id := parent.SpanID()
		b = appendMessage(b, 4, id[:])
	}
	b = appendText(b, 5, s.Name())
	b = appendNumber(b, 6, uint64(s.SpanKind())) // both count from 1 for internal
	b = appendTime(b, 7, s.StartTime())
	b = appendTime(b, 8, s.EndTime())
	for _, kv := range s.Attributes() {
		b = appendMessage(b, 9, keyValue(kv))
	}
	b = appendNumber(b, 10, uint64(s.DroppedAttributes()))
	for _, e := range s.Events() {
		event := appendText(appendTime(nil, 1, e.Time), 2, e.Name)
		for _, kv := range e.Attributes {
			event = appendMessage(event, 3, keyValue(kv))
		}
		b = appendMessage(b, 11, event)
	}
	b = appendNumber(b, 12, uint64(s.DroppedEvents()))
	switch s.Status().Code {
	case codes.Ok:
		b = appendMessage(b, 15, appendNumber(nil, 3, 1))
	case codes.Error:
		b = appendMessage(b, 15, appendNumber(appendText(nil, 2, s.Status().Description), 3, 2))
	}
	b = protowire.AppendTag(b, 16, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, uint32(own.TraceFlags()))
}

// keyValue encodes an attribute.
func keyValue(kv attribute.KeyValue) []byte {
	return appendMessage(appendText(nil, 1, string(kv.Key)), 2, anyValue(kv.Value))
}

// anyValue encodes a value. An empty one is still written: it has a type.
func anyValue(v attribute.Value) []byte {
	switch v.Type() {
	case attribute.BOOL:
		n := uint64(0)
		if v.AsBool() {
			n = 1
		}
		return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), n)
	case attribute.INT64:
		return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type),
			math.Float64bits(v.AsFloat64()))
	}
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), valid(v.String()))
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), valid(text))
}

// valid makes a text that clients chose one that protobuf accepts.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendTime(b []byte, field protowire.Number, t time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(t.UnixNano()))
}
