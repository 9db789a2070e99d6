package tracing

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/oriel-context/oriel/internal/proxy"
)

// FromEnv returns a tracer that exports to the collector that the standard variables name,
// or nil if they name none: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _COMPRESSION,
// _PROTOCOL and _CERTIFICATE, each also as OTEL_EXPORTER_OTLP_TRACES_…, OTEL_SDK_DISABLED
// and OTEL_TRACES_EXPORTER. The SDK itself honours OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_… and the limits of spans.
func FromEnv(version string, log *slog.Logger) (*Tracer, error) {
	out, err := exporterFromEnv(os.Getenv, log)
	if out == nil || err != nil {
		return nil, err
	}
	service := resource.NewSchemaless(attribute.String("service.name", "oriel"),
		attribute.String("service.version", version))
	described, err := resource.Merge(service, resource.Environment())
	if err != nil {
		described = service
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(out), sdktrace.WithResource(described))
	return newTracer(provider, version), nil
}

// exporterFromEnv returns the exporter that variables describe, or nil.
func exporterFromEnv(getenv func(string) string, log *slog.Logger) (*exporter, error) {
	get := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || get("ENDPOINT") == "" {
		return nil, nil
	}
	switch e := getenv("OTEL_TRACES_EXPORTER"); e {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER %q is not supported: use otlp or none", e)
	}
	if p := get("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL %q is not supported: use http/protobuf, which collectors accept at port 4318",
			p)
	}
	target, err := endpoint(getenv)
	if err != nil {
		return nil, err
	}
	e := &exporter{url: target, header: http.Header{}, timeout: 10 * time.Second, log: log, pause: time.Second}
	if text := get("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT %q: give milliseconds above 0", text)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	switch c := get("COMPRESSION"); c {
	case "", "none":
	case "gzip":
		e.gzip = true
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION %q: use gzip or none", c)
	}
	for pair := range strings.SplitSeq(get("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, bad := url.PathUnescape(strings.TrimSpace(value))
		if !ok || bad != nil || strings.TrimSpace(key) == "" {
			return nil, errors.New(
				// it may have a key: it is not repeated
				"OTEL_EXPORTER_OTLP_HEADERS: give KEY=VALUE,KEY=VALUE with escaped values")
		}
		e.header.Set(strings.TrimSpace(key), value)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if file := get("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate in PEM", file)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	// The headers may be credentials, which are for the named server.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.client = &http.Client{Transport: transport, CheckRedirect: stay}
	return e, nil
}

// endpoint returns the URL for traces: that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT as it
// is, or that of OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces.
func endpoint(getenv func(string) string) (string, error) {
	name, text := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s: give a URL such as http://127.0.0.1:4318", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// errorType returns the class of a call's error, or "".
func errorType(e *proxy.TraceEnd) string {
	switch {
	case errors.Is(e.Err, proxy.ErrClientLeft):
		return "client_left"
	case errors.Is(e.Err, proxy.ErrUpstream):
		return "upstream"
	case e.Err != nil:
		return "oriel"
	case e.Status >= http.StatusInternalServerError:
		return strconv.Itoa(e.Status)
	}
	return ""
}
