package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
)

// newDoctor looks at an empty home.
func newDoctor(t *testing.T) *doctor {
	t.Helper()
	home := t.TempDir()
	return &doctor{
		setup: setup{proxy: proxy.Options{Listen: "127.0.0.1:8780"}, data: &history{dir: filepath.Join(home, "data")}},
		env:   environment{"HOME=" + home}, home: home, here: filepath.Join(home, "project"), now: time.Now,
		build:   buildInfo{Version: "v1"},
		listens: listens,
	}
}

func (d *doctor) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func everywhere(context.Context, string) bool { return true }

// An agent that calls a proxy that is not running cannot work at all.
func TestDoctorFailsForAProxyThatIsNotRunning(t *testing.T) {
	d := newDoctor(t)
	d.listens = func(context.Context, string) bool { return false }
	d.write(t, ".claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:8780"}}`)
	expect(t, d.checkClaude()[0], failed, "to http://127.0.0.1:8780, a proxy that is not running", "oriel serve",
		"oriel setup claude-code --undo")
	d.write(t, ".claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"http://localhost:8799/k/secret"}}`)
	f := d.checkClaude()[0]
	expect(t, f, failed, "not running")
	if strings.Contains(fmt.Sprint(f), "secret") {
		t.Error(f)
	}
	d.write(t, ".codex/config.toml", "openai_base_url = \"http://127.0.0.1:8780/v1\"\n")
	expect(t, d.checkCodex()[0], failed, "not running", "oriel setup codex --undo")
	d.env = append(d.env, "OPENAI_BASE_URL=http://127.0.0.1:8780/v1")
	expect(t, d.checkVariable("OPENAI_BASE_URL", "OpenAI"), failed, "unset OPENAI_BASE_URL")
	d.write(t, "data/setup/aider.json", `{"agent":"aider","url":"http://127.0.0.1:8780"}`)
	expect(t, d.checkOtherAgents()[0], failed, "not running", "oriel setup aider --undo")
	d.write(t, ".claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example"}}`)
	expect(t, d.checkClaude()[0], warning, "past the proxy")
	d.listens = everywhere
	if found := d.checkOtherAgents(); len(found) != 0 {
		t.Error(found)
	}
}

func expect(t *testing.T, f finding, want status, words ...string) {
	t.Helper()
	if f.Status != want {
		t.Errorf("%+v, want %s", f, want)
	}
	for _, w := range words {
		if !strings.Contains(f.Found+": "+f.Advice, w) {
			t.Errorf("%+v: no %q", f, w)
		}
	}
}

func TestDoctorKnowsTheDataFolder(t *testing.T) {
	ctx := context.Background()
	d := newDoctor(t)
	expect(t, d.checkFolder()[0], fine, "does not exist yet")
	expect(t, d.checkStore(ctx), fine, "none yet")
	expect(t, d.checkDisk(), fine)
	if _, err := os.Stat(d.data.dir); err == nil {
		t.Error("the doctor has made the folder")
	}

	d.data.dir = talks(t)
	expect(t, d.checkFolder()[0], fine, "writable", "kB")
	expect(t, d.checkStore(ctx), fine, "format 3", "2 messages in 2 conversations", "not locked")
	files, err := os.ReadDir(d.data.dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v %v: want the database alone", files, err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(d.data.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		expect(t, d.checkFolder()[0], warning, "the names of its files", "chmod -R go= "+d.data.dir)
		if err := os.Chmod(filepath.Join(d.data.dir, "oriel.db"), 0o644); err != nil {
			t.Fatal(err)
		}
		expect(t, d.checkFolder()[0], warning, "oriel.db")
	}

	d.write(t, "data", "a file")
	d.data.dir = filepath.Join(d.home, "data")
	expect(t, d.checkFolder()[0], failed, "is not a folder", "--data")
	d.write(t, "damaged/oriel.db", strings.Repeat("no database ", 1000))
	d.data.dir = filepath.Join(d.home, "damaged")
	expect(t, d.checkStore(ctx), failed, "open")
	expect(t, judgeDisk("/", 10<<20), failed, "oriel prune")
	expect(t, judgeDisk("/", 100<<20), warning, "oriel prune")
}

func TestDoctorKnowsThePort(t *testing.T) {
	ctx := context.Background()
	d := newDoctor(t)
	d.proxy.Listen = "127.0.0.1:0"
	expect(t, d.checkPort(ctx), fine, "a free one")
	d.proxy.Listen = "nonsense"
	expect(t, d.checkPort(ctx), failed, "HOST:PORT")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.proxy.Listen = l.Addr().String()
	l.Close()
	expect(t, d.checkPort(ctx), fine, "is free")

	answer := "hello"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	d.proxy.Listen = server.Listener.Addr().String()
	expect(t, d.checkPort(ctx), failed, "another program", "--listen")
	answer = `{"status":"ok","version":"v1","store":"ok"}`
	expect(t, d.checkPort(ctx), fine, "oriel v1 answers")
	answer = `{"status":"ok","version":"v0","store":"ok"}`
	expect(t, d.checkPort(ctx), warning, "oriel v0", "this program is v1")
	answer = `{"status":"degraded","version":"v1","store":"failed"}`
	expect(t, d.checkPort(ctx), warning, "wait in its spool")
	answer = `{"status":"degraded","version":"v1","store":"ok"}` // such as settings that are held
	f := d.checkPort(ctx)
	expect(t, f, warning, "something is wrong", "/oriel/healthz")
	if strings.Contains(f.Advice, "history") {
		t.Errorf("it blames the history: %s", f.Advice)
	}
}

// The token is for Oriel: another program that listens at its address does not see it.
func TestDoctorGivesNoTokenToAnotherProgram(t *testing.T) {
	answer, seen := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen += fmt.Sprint(r.Header, r.URL)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	d := newDoctor(t)
	d.proxy.Listen, d.proxy.Tokens = server.Listener.Addr().String(), map[string]string{"a-token-of-sixteen": "local"}
	for _, answer = range []string{"hello", "{}", `{"status":"ok"}`} {
		expect(t, d.checkPort(context.Background()), failed, "another program")
	}
	if strings.Contains(seen, "a-token") {
		t.Errorf("another program was given the token: %s", seen)
	}
	answer = `{"status":"ok","version":"v1","store":"ok"}`
	expect(t, d.checkPort(context.Background()), fine, "oriel v1 answers")
	if !strings.Contains(seen, "a-token") {
		t.Error("Oriel was not asked with its token")
	}
}

func TestDoctorReachesProviders(t *testing.T) {
	ctx := context.Background()
	d := newDoctor(t)
	off := time.Duration(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-off).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	base := server.URL + "/v1?key=secret-81d3"
	r := d.reach(ctx, "OpenAI", base)
	expect(t, r.finding, fine, "TCP", "HTTP 401", server.URL)
	expect(t, d.checkClock([]reach{{}, r}), fine, "as that of "+r.host)
	off = 5 * time.Minute
	expect(t, d.checkClock([]reach{r, d.reach(ctx, "OpenAI", base)}), warning, "ahead of", "5m", "time server")
	off = -5 * time.Minute
	expect(t, d.checkClock([]reach{d.reach(ctx, "OpenAI", base)}), warning, "behind")
	expect(t, d.checkClock(nil), fine, "no provider answered")
	d.build.Date = "2990-01-01T00:00:00Z"
	expect(t, d.checkClock(nil), warning, "before this program was made")

	server.Close()
	gone := d.reach(ctx, "OpenAI", base)
	expect(t, gone.finding, warning, "cannot be reached (TCP", "start the server")
	for _, f := range []finding{r.finding, gone.finding} {
		if strings.Contains(fmt.Sprint(f), "secret") {
			t.Errorf("%+v has a key", f)
		}
	}
	expect(t, d.reach(ctx, "OpenAI", "nothing").finding, warning, "cannot be read")

	// A certificate that nobody knows.
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	expect(t, d.reach(ctx, "OpenAI", tls.URL).finding, warning, "(TLS: ", "$SSL_CERT_FILE")
}

func TestDoctorKnowsProxyVariables(t *testing.T) {
	for _, tc := range []struct {
		env   environment
		want  status
		words []string
	}{
		{nil, fine, []string{"none set"}},
		{environment{"https_proxy=http://ann:secret@proxy:3128"}, fine, []string{"HTTPS_PROXY is http://proxy:3128"}},
		{environment{"HTTP_PROXY=proxy:3128"}, warning,
			[]string{"http://proxy:3128", "add localhost,127.0.0.1 to NO_PROXY"}},
		{environment{"HTTP_PROXY=proxy:3128", "no_proxy=.corp, 127.0.0.0/8"}, fine, nil},
		{environment{"HTTP_PROXY=proxy:3128", "NO_PROXY=localhost"}, fine, nil},
		{environment{"ALL_PROXY=socks5://proxy"}, warning, []string{"HTTPS_PROXY"}},
		{environment{"HTTPS_PROXY=http://a b"}, failed, []string{"http://HOST:PORT"}},
	} {
		d := doctor{env: tc.env}
		f := d.checkProxyVariables()
		expect(t, f, tc.want, tc.words...)
		if strings.Contains(fmt.Sprint(f), "secret") {
			t.Errorf("%+v has a password", f)
		}
	}
}

func TestDoctorJudgesTheMachine(t *testing.T) {
	vnni := kernels{Embed: "avx512vnni", Vector: "avx512vnni", JSON: "avx512"}
	avx2 := kernels{Embed: "avx2", Vector: "avx2", JSON: "avx2"}
	plain := kernels{Embed: "go", Vector: "go", JSON: "scalar"}
	expect(t, judgeKernels("amd64", "", vnni, "avx512vnni"), fine, "avx512vnni")
	expect(t, judgeKernels("amd64", "", avx2, "avx2"), fine, "avx512vnni needs")
	expect(t, judgeKernels("amd64", "avx2", avx2, "avx512vnni"), warning, "unset it")
	expect(t, judgeKernels("amd64", "", plain, "go"), warning)
	expect(t, judgeKernels("riscv64", "", plain, "go"), warning, "none for riscv64")
	expect(t, judgeKernels("amd64", "x", kernels{Error: "no x"}, "avx2"), failed, "unset ORIEL_KERNEL")

	expect(t, judgeMemory(8<<30, true, math.MaxInt64), fine, "8.6 GB available", "GOMEMLIMIT is not set")
	expect(t, judgeMemory(100<<20, true, math.MaxInt64), warning, "end other programs")
	expect(t, judgeMemory(8<<30, true, 64<<20), warning, "raise GOMEMLIMIT")
	expect(t, judgeMemory(0, false, 1<<30), fine, "not known")
	expect(t, judgeFiles(256), warning, "ulimit -n 4096")
	expect(t, judgeFiles(20_000), fine, "20,000")
	expect(t, judgeFiles(math.MaxUint64), fine, "as many as one likes")
	if f := checkFiles(); f.Status == failed {
		t.Errorf("%+v", f)
	}
	if f := checkMemory(); f.Status == failed {
		t.Errorf("%+v", f)
	}
}

func TestDoctorKnowsWhereCallsGo(t *testing.T) {
	for _, tc := range []struct {
		listen, base string
		here         bool
	}{
		{"127.0.0.1:8780", "http://127.0.0.1:8780", true},
		{"127.0.0.1:8780", "http://localhost:8780/k/secret/v1", true},
		{"127.0.0.1:8780", "http://127.0.0.1:8781", false},
		{"127.0.0.1:8780", "https://127.0.0.1:8780", false},
		{"127.0.0.1:8780", "https://api.openai.com/v1", false},
		{"0.0.0.0:8780", "http://127.0.0.1:8780", true},
		{"0.0.0.0:8780", "http://10.0.0.7:8780", true},
		{"10.0.0.7:8780", "http://10.0.0.7:8780", true},
		{"10.0.0.7:8780", "http://127.0.0.1:8780", false},
		{"127.0.0.1:8780", "nonsense", false},
	} {
		d := doctor{setup: setup{proxy: proxy.Options{Listen: tc.listen}},
			env: environment{"OPENAI_BASE_URL=" + tc.base}, listens: everywhere}
		f := d.checkVariable("OPENAI_BASE_URL", "OpenAI")
		if (f.Status == fine) != tc.here || strings.Contains(fmt.Sprint(f), "secret") {
			t.Errorf("%s %s: %+v", tc.listen, tc.base, f)
		}
	}
	d := newDoctor(t)
	expect(t, d.checkVariable("OPENAI_BASE_URL", "OpenAI"), fine, "not set")
	if found := d.checkAgents(); len(found) != 3 {
		t.Errorf("agents that are not there: %+v", found)
	}
}

func TestDoctorKnowsClaudeCode(t *testing.T) {
	d := newDoctor(t)
	d.listens = everywhere
	d.write(t, ".claude/settings.json", `{"apiKeyHelper":"secret"}`)
	expect(t, d.checkClaude()[0], warning, "straight to Anthropic", "oriel run -- claude", "http://127.0.0.1:8780")
	d.env = append(d.env, "ANTHROPIC_BASE_URL=http://127.0.0.1:8780")
	expect(t, d.checkClaude()[0], fine, "the environment sends its calls to the proxy")
	d.write(t, ".claude/settings.json",
		`{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example/secret","ANTHROPIC_API_KEY":"secret"}}`)
	expect(t, d.checkClaude()[0], warning, "settings.json", "https://gateway.example, past the proxy")
	d.write(t, "project/.claude/settings.local.json", `{"env":{"ANTHROPIC_BASE_URL":"http://localhost:8780"}}`)
	expect(t, d.checkClaude()[0], fine, "settings.local.json")
	d.write(t, ".claude/settings.json", `{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}`)
	expect(t, d.checkClaude()[0], warning, "CLAUDE_CODE_USE_BEDROCK")
	d.write(t, ".claude/settings.json",
		`{"env":{"CLAUDE_CODE_USE_BEDROCK":"1","ANTHROPIC_BEDROCK_BASE_URL":"http://127.0.0.1:8780"}}`)
	expect(t, d.checkClaude()[0], fine, "settings.json sends its calls of Bedrock to the proxy")
	d.write(t, ".claude/settings.json",
		`{"env":{"CLAUDE_CODE_USE_BEDROCK":"1","ANTHROPIC_BEDROCK_BASE_URL":"https://gateway.example"}}`)
	expect(t, d.checkClaude()[0], warning, "https://gateway.example, past the proxy")
	d.write(t, ".claude/settings.json", `{"env":secret}`)
	expect(t, d.checkClaude()[0], warning, "cannot be read")
}

func TestDoctorKnowsCodex(t *testing.T) {
	d := newDoctor(t)
	d.listens = everywhere
	d.write(t, ".codex/config.toml", "model = \"gpt-5\"\n")
	d.env = append(d.env, "OPENAI_BASE_URL=http://127.0.0.1:8780/v1")
	expect(t, d.checkCodex()[0], warning, "whatever OPENAI_BASE_URL says",
		`openai_base_url to "http://127.0.0.1:8780/v1"`)
	d.write(t, ".codex/config.toml", "openai_base_url = \"http://127.0.0.1:8780/v1\"\n")
	expect(t, d.checkCodex()[0], fine, "config.toml sends its calls to the proxy")
	d.write(t, ".codex/auth.json", `{"OPENAI_API_KEY":null,"tokens":{"access_token":"secret"}}`)
	f := d.checkCodex()[0]
	expect(t, f, warning, "ChatGPT")
	d.write(t, ".codex/config.toml",
		"model_provider = \"x\"\n[model_providers.x]\nbase_url = \"http://localhost:8780/v1\"\n")
	expect(t, d.checkCodex()[0], fine)
	d.write(t, ".codex/config.toml",
		"model_provider = \"x\"\n[model_providers.x]\nbase_url = \"https://other.example/v1\"\n")
	expect(t, d.checkCodex()[0], warning, "https://other.example")
	d.write(t, ".codex/config.toml", "model = \"x\"\nkey = secret\n")
	bad := d.checkCodex()[0]
	expect(t, bad, warning, "config.toml:2 is not TOML")
	if strings.Contains(fmt.Sprint(f, bad), "secret") {
		t.Error(f, bad)
	}
}

// A file that cannot be used is reported with its line, and the other checks go on.
func TestDoctorReadsTheSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, f := examineSettings(settings.Sources{File: file, Optional: true})
	expect(t, f, fine, "no file ("+file)
	write("listen = \"127.0.0.1:9000\"\n")
	s, f := examineSettings(settings.Sources{File: file})
	expect(t, f, fine, file+" is valid")
	if s.proxy.Listen != "127.0.0.1:9000" {
		t.Error(s.proxy.Listen)
	}
	write("listen = \"127.0.0.1:9000\"\nlisen = 3\n")
	s, f = examineSettings(settings.Sources{File: file, Flags: map[string]string{"listen": "127.0.0.1:9001"}})
	expect(t, f, failed, file+":2", "lisen")
	if s.proxy.Listen != "127.0.0.1:9001" {
		t.Error(s.proxy.Listen)
	}
	write("listen = \"0.0.0.0:9000\"\n")
	_, f = examineSettings(settings.Sources{File: file})
	expect(t, f, failed, "token")
	write("[thresholds]\nall = 3\n")
	_, f = examineSettings(settings.Sources{File: file})
	expect(t, f, warning, file+":2")
}

// The whole command, without a network: unreachable providers are warnings.
func TestDoctor(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "CLAUDE_CONFIG_DIR": "",
		"CODEX_HOME": "", "ORIEL_DATA": "",
		"HTTP_PROXY": "", "http_proxy": "", "OPENAI_BASE_URL": "https://other.example", "ANTHROPIC_BASE_URL": ""} {
		t.Setenv(name, value)
	}
	args := []string{"doctor", "--data", filepath.Join(home, "data"), "--listen", "127.0.0.1:0", "--upstream-openai",
		"http://127.0.0.1:1", "--upstream-anthropic", "http://127.0.0.1:1"}
	code, out, errOut := command(t, args...)
	if code != 0 || errOut != "" || !strings.Contains(out, "warning  OpenAI") ||
		!strings.Contains(out, "ok       data folder") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	code, out, errOut = command(t, append(args, "--json", "--listen", "nonsense")...)
	var told struct {
		OK     bool
		Checks []finding
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil {
		t.Fatal(err)
	}
	if code != 1 || told.OK || len(told.Checks) < 12 || !strings.Contains(errOut, "say what to do") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}
