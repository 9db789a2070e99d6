// Command shots draws every page of the console, dark and light, wide and narrow, on a
// history that it makes.
//
//	scripts/screenshots FOLDER
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/oriel-context/oriel/tools/browser/drive"
	"github.com/oriel-context/oriel/tools/browser/sample"
)

func main() {
	data := flag.String("data", "", "`folder` with a history (default: one is made)")
	only := flag.String("only", "", "`pattern` of the names of pictures")
	webp := flag.Bool("webp", false, "small pictures for documents: WebP, and no more than one screen")
	program := flag.String("oriel", "", "the `program` (default: it is built)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: shots FOLDER")
		os.Exit(2)
	}
	if err := run(ctx, flag.Arg(0), *data, *program, *only, *webp); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, data, program, only string, webp bool) error {
	work, err := os.MkdirTemp("", "shots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if program == "" {
		if program, err = drive.Program(work); err != nil {
			return err
		}
	}
	if data == "" {
		data = filepath.Join(work, "data")
	}
	if _, err := os.Stat(data); err != nil {
		if text, err := exec.CommandContext(ctx, program, "demo", "--fast", "--exit", "--data",
			data).CombinedOutput(); err != nil {
			return fmt.Errorf("oriel demo: %w: %s", err, text)
		}
		if err := sample.Fill(ctx, data); err != nil {
			return err
		}
	}
	model := sample.NewModel()
	defer model.Close()
	server, err := drive.Serve(ctx, program, data, model.URL)
	if err != nil {
		return err
	}
	defer server.Stop()
	empty, err := drive.Serve(ctx, program, filepath.Join(work, "empty"), model.URL)
	if err != nil {
		return err
	}
	defer empty.Stop()
	shared, err := drive.Serve(ctx, program, filepath.Join(work, "shared"), model.URL,
		"ORIEL_TOKEN=own-0123456789abcdef")
	if err != nil {
		return err
	}
	defer shared.Stop()
	tab, end, err := drive.Browser(ctx, work)
	if err != nil {
		return err
	}
	defer end()
	if err := warm(ctx, server); err != nil {
		return err
	}
	flaky, err := find(server, "flaky")
	if err != nil {
		return err
	}
	pages := []struct{ name, at string }{
		{"overview", server.Console},
		{"conversations", server.Console + "#/conversations"},
		{"conversation", server.Console + "#/conversation/demo?call=30&message=13"},
		{"plans", server.Console + "#/conversation/" + flaky + "?tab=plans&plan=p4&preview=1"},
		{"sent", server.Console + "#/conversation/demo?tab=sent&call=30"},
		{"difference", server.Console + "#/conversation/demo?tab=diff&call=30&with=came"},
		{"call-window", server.Console + "#/conversation/" + flaky + "?tab=window"},
		{"usage", server.Console + "#/usage?by=model"},
		{"window", server.Console + "#/window?since=7d"},
		{"recall", server.Console + "#/recall?q=Which+port+does+the+staging+database+have%3F&budget=600"},
		{"settings", server.Console + "#/settings"},
		{"search", server.Console + "#/conversations?search=bank+batches"},
		{"help", server.Console + "#/conversation/demo?call=47"},
		{"empty", empty.Console},
		{"sign-in", shared.Console},
		{"empty-conversations", empty.Console + "#/conversations"},
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			for _, p := range pages {
				name := fmt.Sprintf("%s-%s-%d", p.name, theme, width)
				if only != "" && !regexp.MustCompile(only).MatchString(name) {
					continue
				}
				if err := shot(tab, filepath.Join(out, name), p.at, theme, width, webp); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				fmt.Println(name)
			}
		}
	}
	return nil
}

// warm asks until recall goes by meaning, too: the vectors are made behind the first question.
func warm(ctx context.Context, s *drive.Server) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		r, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/oriel/api/recall",
			strings.NewReader(`{"query":"Which port does the staging database have?","explain":true}`))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		var answer struct {
			Mode    string
			Explain struct{ Unembedded int }
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		if err != nil || answer.Mode == "hybrid" && answer.Explain.Unembedded == 0 {
			return err
		}
	}
	return nil // the pictures then show how it is
}

// find returns the id of the newest conversation whose title has a word.
func find(s *drive.Server, word string) (string, error) {
	res, err := http.Get(s.URL + "/oriel/api/conversations?limit=50")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var list struct {
		Items []struct{ ID, Title string }
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		return "", err
	}
	for _, c := range list.Items {
		if strings.Contains(c.Title, word) {
			return c.ID, nil
		}
	}
	return "last", nil
}

// maxPicture is how many bytes a picture of the documents should have at most.
const maxPicture = 45_000

func shot(tab context.Context, path, at, theme string, width int64, webp bool) error {
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	draw := func() error {
		return chromedp.Do(ctx, screen(theme, width), chromedp.Navigate("about:blank"), chromedp.Navigate(at),
			settled())
	}
	err := draw()
	for tries := 0; err != nil && tries < 3 && strings.Contains(err.Error(), "Cannot find context"); tries++ {
		err = draw() // it was asked while the page before it went away
	}
	if err != nil {
		return err
	}
	help := strings.HasPrefix(filepath.Base(path), "help-")
	if help {
		if err := chromedp.Do(ctx, chromedp.KeyEvent("?")); err != nil {
			return err
		}
	}
	height, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`document.documentElement.scrollHeight`))
	if err != nil {
		return err
	}
	yes, quality := true, int64(36)
	format, ext, most := page.CaptureScreenshotFormat("png"), ".png", 2600.0
	if help {
		most = 860 // what is behind the dialog is dimmed on the screen only
	}
	if webp {
		format, ext, most = "webp", ".webp", 800
	}
	var picture []byte
	for { // a busy page is worth fewer details than bytes
		picture, err = chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
			r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
				Format: format, Quality: &quality,
				CaptureBeyondViewport: &yes, Clip: &page.Viewport{Width: float64(width), Height: min(height, most),
					Scale: 1},
			})
			return r.Data, err
		})
		if err != nil {
			return err
		}
		if !webp || len(picture) <= maxPicture || quality <= 10 {
			break
		}
		quality -= 5
	}
	return os.WriteFile(path+ext, picture, 0o644)
}

// screen sets the scheme and the size of the screen.
func screen(theme string, width int64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
				Value: theme}}})
		if err == nil {
			_, err = cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride,
				emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 860, DeviceScaleFactor: 1,
					Mobile: width < 500})
		}
		return err
	})
}

// settled waits until nothing is loading any more and a dozen looks found it so.
func settled() chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](`document.documentElement.dataset.ready && !document.querySelector('.loading') && (window.quiet = (window.quiet ?? 0) + 1) > 12`, chromedp.WithPollingInterval(60*time.Millisecond))
}
