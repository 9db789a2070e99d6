package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// startModel is a provider that answers everything, with usage.
func startModel(t *testing.T) (url string) {
	up := httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		if strings.Contains(string(r.Data()), "no usage") {
			return fakemodel.Answer{Text: "Noted."}
		}
		return fakemodel.Answer{Text: "Noted.", Input: 100, CacheRead: 300, Output: 20}
	}})
	t.Cleanup(up.Close)
	return up.URL
}

// childMain is a program that oriel run is tried on.
func childMain() {
	if err := child(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

func child(verb string, args []string) error {
	switch verb {
	case "ask": // FORMAT N [WORDS]: N calls of one conversation
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return ask(args[0], n, strings.Join(args[2:], " "))
	case "post": // PATH BODY
		return post(os.Getenv("OPENAI_BASE_URL")+args[0], args[1])
	case "api": // PATH…: what the API answers, on standard output
		for _, path := range args {
			if err := get(strings.TrimSuffix(os.Getenv("OPENAI_BASE_URL"), "/v1") + "/oriel/" + path); err != nil {
				return err
			}
		}
	case "env": // NAME…
		for _, name := range args {
			fmt.Printf("%s=%s\n", name, os.Getenv(name))
		}
	default:
		return moreVerbs[verb](args)
	}
	return nil
}

// moreVerbs are those that need signals.
var moreVerbs = map[string]func(args []string) error{}

// ask has a conversation that grows, by the variables that the vendors' SDKs read.
func ask(format string, n int, words string) error {
	openAI, anthropic := os.Getenv("OPENAI_BASE_URL"), os.Getenv("ANTHROPIC_BASE_URL")
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`,
			fmt.Sprintf("Thing %d, by %s. %s", i, format, words)))
		messages := strings.Join(list, ",")
		var err error
		switch format {
		case "anthropic":
			err = post(anthropic+"/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[`+messages+
				`]}`)
		case "chat":
			err = post(openAI+"/chat/completions", `{"model":"gpt-4o","messages":[`+messages+`]}`)
		case "responses":
			err = post(openAI+"/responses", `{"model":"gpt-5","input":[`+messages+`]}`)
		case "local": // a model that no table has
			err = post(openAI+"/chat/completions", `{"model":"my-own","messages":[`+messages+`]}`)
		}
		if err != nil {
			return err
		}
		list = append(list, `{"role":"assistant","content":"Noted."}`)
	}
	return nil
}

// get prints an answer.
func get(url string) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		return fmt.Errorf("%s: %s", url, r.Status)
	}
	_, err = io.Copy(os.Stdout, r.Body)
	return err
}

func post(url, body string) error {
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", r.Status, answer)
	}
	return err
}

// startServerOf serves a handler on loopback.
func startServerOf(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	return up.URL
}
