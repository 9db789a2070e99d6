// Command proxy measures what a proxy between an agent and its model costs; the
// script run beside it is the whole. It lives in a module of its own so that it adds
// nothing to Oriel's dependencies.
//
// Usage:
//
//	proxy compare FOLDER ROUNDS CALLS            Oriel beside its rivals
//	proxy against FOLDER ROUNDS                  Oriel beside an earlier one
//	proxy protocols FOLDER ROUNDS                Oriel's protocols beside Chat
//	proxy load FOLDER SECONDS STREAMS            many streams at once, ends and restarts
//	proxy floor LISTEN UPSTREAM                  the least that a proxy in Go does
//
// FOLDER has the programs that run made: oriel, and the rivals as far as they could be
// installed.
package main

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "compare":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return compare(args[1], n[0], n[1])
	case len(args) == 3 && args[0] == "against":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return against(args[1], n[0])
	case len(args) == 3 && args[0] == "protocols":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return compareProtocols(args[1], n[0])
	case len(args) == 4 && args[0] == "load":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return load(args[1], n[0], n[1])
	case len(args) == 3 && args[0] == "floor":
		return floor(args[1], args[2])
	}
	return fmt.Errorf("bad arguments %q", args)
}

func numbers(args []string) ([]int, error) {
	out := make([]int, len(args))
	for i, a := range args {
		var err error
		if out[i], err = strconv.Atoi(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// floor is a proxy that examines nothing.
func floor(listen, upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableCompression: true},
	}
	return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise an answer that begins before the request has ended is
		// interrupted.
		http.NewResponseController(w).EnableFullDuplex()
		p.ServeHTTP(w, r)
	}))
}
