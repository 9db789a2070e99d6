//go:build unix

package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
)

// BenchmarkCall is a whole call over loopback, one after another: client, proxy and
// upstream in this process, so that cpu-ms/op less that of direct is the proxy's.
func BenchmarkCall(b *testing.B) {
	answer := bytes.Repeat([]byte("x"), 2000)
	upstream := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, size := range []int{2_000, 200_000, 1_000_000} {
		body := bytes.Repeat([]byte("x"), size)
		for _, tc := range []struct {
			name   string
			engine proxy.Engine
		}{{"direct", nil}, {"httputil", nil}, {"no engine", nil}, {"no-op", nothing{}}} {
			b.Run(fmt.Sprintf("%dkB/%s", size/1000, tc.name), func(b *testing.B) {
				s := startWith(b, tc.engine, proxy.Options{Log: log}, upstream)
				url := s.url
				switch tc.name {
				case "direct":
					url = s.upstream.URL
				case "httputil": // the standard library's, which reads no body and logs nothing
					base, _ := neturl.Parse(s.upstream.URL)
					transport := &http.Transport{DisableCompression: true}
					plain := httptest.NewServer(&httputil.ReverseProxy{Transport: transport,
						Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }})
					defer transport.CloseIdleConnections()
					defer plain.Close()
					url = plain.URL
				}
				call := func() {
					r, err := http.NewRequest("POST", url+"/v1/messages", bytes.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					res, err := s.client.Do(r)
					if err != nil {
						b.Fatal(err)
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				call()
				var took []time.Duration
				before := cpu()
				for b.Loop() {
					t := time.Now()
					call()
					took = append(took, time.Since(t))
				}
				used := cpu() - before
				slices.Sort(took)
				b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
