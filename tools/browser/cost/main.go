// Command cost measures what an open console costs the server: processor time for each call
// with the page closed and open, in alternating blocks of one run, and while nothing happens.
//
//	go -C tools run ./browser/cost
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/oriel-context/oriel/tools/browser/drive"
	"github.com/oriel-context/oriel/tools/browser/sample"
)

func main() {
	blocks := flag.Int("blocks", 8, "`blocks` of calls, with the page closed and open in turn")
	calls := flag.Int("calls", 60, "`calls` of a block")
	every := flag.Duration("every", 100*time.Millisecond, "`time` between two calls")
	idle := flag.Duration("idle", 20*time.Second, "`time` without calls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *blocks, *calls, *every, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, blocks, calls int, every, idle time.Duration) error {
	work, err := os.MkdirTemp("", "cost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program, err := drive.Program(work)
	if err != nil {
		return err
	}
	data := filepath.Join(work, "data")
	if err := sample.Fill(ctx, data); err != nil {
		return err
	}
	model := sample.NewModel()
	defer model.Close()
	server, err := drive.Serve(ctx, program, data, model.URL)
	if err != nil {
		return err
	}
	defer server.Stop()
	tab, end, err := drive.Browser(ctx, work)
	if err != nil {
		return err
	}
	defer end()
	s := &sample.Session{Client: http.DefaultClient, Base: server.URL, Model: model, Name: "claude-sonnet-4-5",
		ID: "cost", Budget: 24_000, Folder: "/home/ann/src/cost"}
	s.User("Measure what a page costs.")
	if err := s.Work(ctx, "cost", 40); err != nil { // so that calls are of a usual size
		return err
	}
	used := map[string][]float64{}
	for i := range blocks {
		page, at := "closed", "about:blank"
		switch i % 4 {
		case 1:
			page, at = "overview", server.Console
		case 3:
			page, at = "conversation", server.Console+"#/conversation/cost"
		}
		if err := chromedp.Do(tab, chromedp.Navigate("about:blank"), chromedp.Navigate(at)); err != nil {
			return err
		}
		time.Sleep(3 * time.Second) // the page is drawn, and calls before are written
		before, err := processor(server.PID())
		if err != nil {
			return err
		}
		for range calls {
			if err := s.Say(ctx, "To the east."); err != nil {
				return err
			}
			s.User("And then?")
			time.Sleep(every)
		}
		time.Sleep(5 * time.Second) // what the page asks for afterwards belongs to them
		after, err := processor(server.PID())
		if err != nil {
			return err
		}
		ms := (after - before).Seconds() * 1000 / float64(calls)
		used[page] = append(used[page], ms)
		fmt.Printf("block %d  %-12s %6.2f ms a call\n", i+1, page, ms)
	}
	for _, page := range []string{"closed", "overview", "conversation"} {
		if list := used[page]; len(list) > 0 {
			slices.Sort(list)
			fmt.Printf("%-12s median %.2f ms of processor time a call\n", page, list[len(list)/2])
		}
	}
	for _, page := range []struct{ name, at string }{{"no page", "about:blank"}, {"overview", server.Console},
		{"conversation", server.Console + "#/conversation/cost"}} {
		if err := chromedp.Do(tab, chromedp.Navigate("about:blank"), chromedp.Navigate(page.at)); err != nil {
			return err
		}
		time.Sleep(8 * time.Second)
		before, err := processor(server.PID())
		if err != nil {
			return err
		}
		time.Sleep(idle)
		after, err := processor(server.PID())
		if err != nil {
			return err
		}
		fmt.Printf("idle, %-12s %.2f ms of processor time a second\n", page.name,
			(after-before).Seconds()*1000/idle.Seconds())
	}
	return nil
}

// processor returns the processor time of a process so far, on Linux: fields 14 and 15 of
// its stat file, in hundredths of a second.
func processor(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
