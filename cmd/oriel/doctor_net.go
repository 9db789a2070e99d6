package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
)

// checkPort checks that the address is free or that oriel listens there.
func (d *doctor) checkPort(ctx context.Context) finding {
	const name = "port"
	at := d.proxy.Listen
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return finding{name, failed, fmt.Sprintf("%q is not an address", at), "give HOST:PORT, such as 127.0.0.1:8780"}
	}
	if port == "0" {
		return finding{name, fine, "a free one is taken at the start", ""}
	}
	// Check first, because some systems let two programs listen.
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	there := reachable(host, port)
	if d.listens(ctx, there) {
		return d.checkServer(ctx, there)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return finding{name, failed, err.Error(), listenHint(err)}
	}
	l.Close()
	return finding{name, fine, at + " is free: oriel serve listens there", ""}
}

// checkHealth checks that oriel listens at the address.
func (d *doctor) checkHealth(ctx context.Context) finding {
	const name = "health"
	host, port, err := net.SplitHostPort(d.proxy.Listen)
	if err != nil || port == "0" {
		return finding{name, failed, fmt.Sprintf("%q is not the address of a server", d.proxy.Listen),
			"give the one that oriel serve printed with --listen"}
	}
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	there := reachable(host, port)
	if !d.listens(ctx, there) {
		return finding{name, failed, "nothing answers at " + there,
			"start oriel serve, or give its address with --listen"}
	}
	f := d.checkServer(ctx, there)
	f.Check = name
	return f
}

// reachable returns the address by which this machine reaches what listens at host and port.
func reachable(host, port string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// listens reports whether something listens at an address.
func listens(ctx context.Context, at string) bool {
	conn, err := (&net.Dialer{Timeout: portTimeout / 2}).DialContext(ctx, "tcp", at)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// serverHealth is a server's own report. Unread is shown only to its token.
type serverHealth struct {
	Status, Version, Store string
	Unread                 []proxy.Unread
}

// stranger returns the error text for an address at which another program listens.
func stranger(at string) string {
	return "another program listens at " + at + ": end it, or choose another address with the setting listen"
}

// askHealth asks what listens at an address for its health, with a token unless that is empty.
// It returns nil if the answer is not Oriel's.
func askHealth(ctx context.Context, at, token string) *serverHealth {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/oriel/healthz", nil)
	if err != nil {
		return nil
	}
	if token != "" {
		r.Header.Set("X-Oriel-Token", token)
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy, because it is this machine
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var h serverHealth
	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&h)
	if err != nil || answer.StatusCode != http.StatusOK || h.Version == "" || h.Store == "" {
		return nil
	}
	return &h
}

// checkServer reports what answers at an address.
func (d *doctor) checkServer(ctx context.Context, at string) finding {
	const name = "port"
	f := finding{name, failed, "another program listens at " + at, "end it, or choose another address with --listen"}
	health := askHealth(ctx, at, "")
	if health == nil {
		return f
	}
	// The token shows what only its owner may see. Only Oriel is sent it, not another program.
	for token := range d.proxy.Tokens {
		health = cmp.Or(askHealth(ctx, at, token), health)
	}
	f = finding{name, fine, fmt.Sprintf("oriel %s answers at %s, status %s", health.Version, at, health.Status), ""}
	switch {
	case health.Store == "failed":
		f.Status, f.Advice = warning, "its history fails, so that calls wait in its spool: its log says why"
	case health.Status != "ok":
		f.Status, f.Advice = warning, "something is wrong with it: its log says what, and so does http://"+at+
			"/oriel/healthz, with its token if it has one"
	case health.Version != d.build.Version:
		f.Status, f.Advice = warning, fmt.Sprintf("this program is %s: start the server again to use it",
			d.build.Version)
	case len(health.Unread) > 0:
		f.Status, f.Advice = warning, unreadAdvice(health.Unread)
	}
	return f
}

// unreadAdvice names the clients whose requests a server does not read.
func unreadAdvice(all []proxy.Unread) string {
	var parts []string
	for i := range all[:min(len(all), 5)] {
		u := &all[i]
		parts = append(parts, term.OneLine(fmt.Sprintf("%s (%s %s, %s)", cmp.Or(u.Client, "a client without a name"),
			term.Plural(int(u.Count), "request",
				"requests"), u.Path, u.Why), maxError))
	}
	return "it records and cuts nothing of what these send: " + strings.Join(parts, "; ") +
		": have them POST calls over HTTP to /v1/messages, /v1/chat/completions or /v1/responses"
}

// reach is the result of connecting to a provider.
type reach struct {
	finding
	// clock is how far this machine's clock is ahead of the provider's; known
	// reports whether that is known.
	clock time.Duration
	known bool
	host  string
}

// portTimeout and reachTimeout are how long this machine and a provider may
// take to answer. Tests wait longer.
var portTimeout, reachTimeout = 2 * time.Second, 3 * time.Second

// reach sends a request to a provider, in the same way as the proxy.
func (d *doctor) reach(ctx context.Context, name, base string) (r reach) {
	r.finding = finding{Check: name, Status: warning}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		r.Found, r.Advice = "its base URL cannot be read", "give one such as https://host/v1"
		return r
	}
	r.host = u.Host
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	var steps steps
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, steps.trace()), http.MethodGet, base, nil)
	if err != nil {
		r.Found = "its base URL cannot be read"
		return r
	}
	way := ""
	if via, err := http.ProxyFromEnvironment(request); err != nil {
		r.Found, r.Advice = "the proxy variable cannot be read", "write it as http://HOST:PORT"
		return r
	} else if via != nil {
		way = " through the proxy " + place(via)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	began := d.now()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		r.Found, r.Advice = steps.failure(place(u)+way, u, err)
		return r
	}
	answer.Body.Close()
	took := d.now().Sub(began)
	r.Status, r.Found = fine, fmt.Sprintf("%s answers%s: %s%d in %d ms", place(u), way, steps.done(), answer.StatusCode,
		took.Milliseconds())
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		r.clock, r.known = began.Add(took/2).Sub(date), true
	}
	return r
}

// place returns a URL without its possibly secret parts.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host }

// steps records the steps of a request.
type steps struct {
	mu      sync.Mutex // several addresses may be tried at once
	now     string
	took    []string
	started time.Time
}

func (s *steps) begin(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.started = step, time.Now()
}

func (s *steps) end(step string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.took = append(s.took, fmt.Sprintf("%s %d ms", step, time.Since(s.started).Milliseconds()))
	}
}

func (s *steps) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { s.begin("DNS") },
		DNSDone:           func(i httptrace.DNSDoneInfo) { s.end("DNS", i.Err) },
		ConnectStart:      func(_, _ string) { s.begin("TCP") },
		ConnectDone:       func(_, _ string, err error) { s.end("TCP", err) },
		TLSHandshakeStart: func() { s.begin("TLS") },
		TLSHandshakeDone:  func(_ tls.ConnectionState, err error) { s.end("TLS", err) },
		WroteRequest:      func(httptrace.WroteRequestInfo) { s.begin("HTTP") },
	}
}

func (s *steps) done() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(s.took, "HTTP "), ", ")
}

// failure returns the step at which a request failed, and what to do.
func (s *steps) failure(where string, u *url.URL, err error) (found, advice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", reachTimeout)
	}
	found = fmt.Sprintf("%s cannot be reached (%s: %v)", where, s.now, err)
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		advice = "its certificate, or that of a proxy on the way, is not trusted here: set $SSL_CERT_FILE to the file of the authority that signed it"
	case isLoopback(u.Hostname()):
		advice = "start the server that should be there"
	case s.now == "DNS":
		advice = "no name server knows it: this machine is offline, or the name is wrong"
	default:
		advice = "this machine is offline, or a firewall wants $HTTPS_PROXY"
	}
	return found, advice
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkVariables reports ORIEL_ variables without a meaning for which another
// may have been meant.
func (d *doctor) checkVariables() finding {
	if found := misspelt(d.env); len(found) > 0 {
		return finding{"variables", warning, strings.Join(found, "; "), ""}
	}
	return finding{"variables", fine, "no ORIEL_ variable is misspelt", ""}
}

// misspelt returns a sentence for each variable that is nearly one of Oriel's.
func misspelt(env []string) (found []string) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if value == "" {
			continue
		}
		if near := settings.NearVariable(name); near != "" && strings.HasPrefix(name, "ORIEL_") {
			found = append(found, fmt.Sprintf("%s is set and means nothing: did you mean %s?", term.OneLine(name, 60),
				near))
		}
	}
	return found
}

// warnOfVariables warns of misspelt variables. oriel doctor reports them itself, and what
// shells evaluate stays as it is.
func warnOfVariables(cmd *cobra.Command) {
	switch cmd.Name() {
	case "doctor", "completion", "man", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return
	}
	warn(cmd, misspelt(os.Environ()))
}

// checkProxyVariables reports which HTTP proxy the environment names, and
// whether programs would use it to reach Oriel.
func (d *doctor) checkProxyVariables() finding {
	const name = "proxy variables"
	get := func(name string) string { return d.env.first(name, strings.ToLower(name)) }
	var set []string
	for _, variable := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		v := get(variable)
		if v == "" {
			continue
		}
		if !strings.Contains(v, "://") {
			v = "http://" + v
		}
		u, err := url.Parse(v)
		if err != nil || u.Host == "" {
			return finding{name, failed, variable + " cannot be read", "write it as http://HOST:PORT"}
		}
		set = append(set, variable+" is "+place(u))
	}
	found := strings.Join(set, ", ")
	switch {
	case get("HTTP_PROXY") != "" && !coversLoopback(get("NO_PROXY")):
		return finding{name, warning, found + ", and NO_PROXY leaves this machine out",
			"add localhost,127.0.0.1 to NO_PROXY, or programs ask that proxy for Oriel"}
	case len(set) > 0:
		return finding{name, fine, found, ""}
	case get("ALL_PROXY") != "":
		return finding{name, warning, "only ALL_PROXY is set, which Oriel does not use",
			"set HTTPS_PROXY if providers are to be reached through it"}
	}
	return finding{name, fine, "none set: providers are reached directly", ""}
}

func coversLoopback(noProxy string) bool {
	for _, word := range strings.FieldsFunc(noProxy, func(r rune) bool { return r == ',' || r == ' ' }) {
		host, _, err := net.ParseCIDR(word)
		if word == "*" || isLoopback(word) || err == nil && host.IsLoopback() {
			return true
		}
	}
	return false
}

// maxSkew is how wrong a clock may be.
const maxSkew = time.Minute

// checkClock checks the clock: messages are stored with their times, and
// signatures of clouds depend on it.
func (d *doctor) checkClock(reached []reach) finding {
	const name = "clock"
	now := d.now().UTC()
	text := now.Format(time.RFC3339)
	const advice = "set the system's clock, or let it follow a time server"
	if built, err := time.Parse(time.RFC3339, d.build.Date); err == nil && now.Before(built.Add(-maxSkew)) {
		return finding{name, warning, fmt.Sprintf("%s, which is before this program was made", text), advice}
	}
	var worst *reach
	for i := range reached {
		if r := &reached[i]; r.known && (worst == nil || r.clock.Abs() > worst.clock.Abs()) {
			worst = r
		}
	}
	switch {
	case worst == nil:
		return finding{name, fine, text + "; no provider answered to compare it with", ""}
	case worst.clock > maxSkew:
		return finding{name, warning, fmt.Sprintf("%s, %s ahead of that of %s", text, worst.clock.Round(time.Second),
			worst.host), advice}
	case worst.clock < -maxSkew:
		return finding{name, warning, fmt.Sprintf("%s, %s behind that of %s", text, -worst.clock.Round(time.Second),
			worst.host), advice}
	}
	return finding{name, fine, fmt.Sprintf("%s, as that of %s", text, worst.host), ""}
}
