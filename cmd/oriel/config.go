package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

func configCommand() *cobra.Command {
	var asJSON, example, path bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in effect, and where each comes from",
		Long: `Show the settings that oriel serve would use, and where each comes from: a flag, the
environment, the file or the default. A flag takes precedence over an environment
variable, and a variable over the file.

The file is that of --config, else of $ORIEL_CONFIG, else oriel/config.toml in the
user's configuration folder, if it exists; --path prints which one. --init prints a file
with every setting, its meaning and its default. A running server applies changes of its
file within seconds and drops no connection. oriel config reads the file itself and does
not ask a server.

Tokens and keys are never printed.`,
		Example: `  oriel config
  oriel config --profile thrifty --json
  oriel config --init > config.toml`,
		Args: noArguments,
	}
	flags := addSettings(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVar(&example, "init", false, "print a file with every setting, its meaning and its default")
	f.BoolVar(&path, "path", false, "print where the file is, or would be")
	cmd.MarkFlagsMutuallyExclusive("json", "init", "path")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if example {
			fmt.Fprint(cmd.OutOrStdout(), settings.Example())
			return nil
		}
		sources, err := flags.sources()
		if err != nil {
			return err
		}
		if path && sources.File == "" {
			return errors.New(
				"there is no place for a settings file, because $HOME is not set: name one with --config or $ORIEL_CONFIG")
		}
		if path {
			fmt.Fprintln(cmd.OutOrStdout(), sources.File)
			return nil
		}
		l, err := loadSettings(sources)
		if err != nil {
			return err
		}
		warn(cmd, l.Warnings)
		if asJSON {
			return printJSON(cmd.OutOrStdout(), struct {
				File     string           `json:"file"`
				Settings []settings.Value `json:"settings"`
			}{l.File, l.Values()})
		}
		var b bytes.Buffer
		t := term.Table{Left: []bool{true, true, true}}
		t.Row("key", "value", "source")
		for _, v := range l.Values() {
			t.Row(v.Key, term.OneLine(v.Text, 100), strings.TrimSpace(v.Kind+" "+v.Where))
		}
		t.Draw(&b)
		_, err = cmd.OutOrStdout().Write(b.Bytes())
		return err
	}
	return cmd
}

// settingsFlags are the flags that set settings.
type settingsFlags struct {
	set        *pflag.FlagSet
	file       string
	thresholds []string
	data       *history
}

// addSettings adds the flags that set settings.
func addSettings(cmd *cobra.Command) *settingsFlags {
	s := &settingsFlags{set: cmd.Flags()}
	f := s.set
	d := settings.Default()
	f.StringVar(&s.file, "config", "",
		"`file` of settings (default $ORIEL_CONFIG, else oriel/config.toml in the user's folder for settings)")
	f.String("listen", d.Listen, "`address` to listen at, HOST:PORT; port 0 takes a free one")
	f.String("upstream-openai", "", "base `URL` for OpenAI's API (default "+proxy.DefaultOpenAI+")")
	f.String("upstream-anthropic", "", "base `URL` for Anthropic's API (default "+proxy.DefaultAnthropic+")")
	f.String("upstream-gemini", "", "base `URL` for Google's Gemini API (default "+proxy.DefaultGemini+")")
	f.String("upstream-ollama", "", "base `URL` of an Ollama server (default "+proxy.DefaultOllama+")")
	f.String("upstream-bedrock", "", "base `URL` of Amazon Bedrock in your region for its own API (default none)")
	f.String("upstream-chatgpt", "", "base `URL` for calls of a ChatGPT login (default "+proxy.DefaultChatGPT+")")
	f.String("token", "",
		"`token` that clients must send (default $ORIEL_TOKEN, else none, which is for loopback only)")
	f.StringArray("origin", nil,
		"`origin` of web pages that may send requests without a token, such as https://chat.example, beside pages of this machine")
	f.String("spool", "",
		"keep calls that the history does not accept in this `folder` until it does (default a folder of the user's state)")
	f.String("sync", d.Sync, "what a power failure may lose: the last moments (normal) or nothing (full)")
	f.String("profile", d.Profile, "how much of a request is sent: "+strings.Join(window.Profiles(), ", ")+
		" (off: all of it), or one of [profiles] of the settings; X-Oriel-Profile and /p/NAME/ in the base URL choose another")
	f.StringArrayVar(&s.thresholds, "threshold", nil,
		"start cutting at this `percent` of the model's window, 5 to 100; NAME=PERCENT sets it for one profile, where -1 means the value for all (default 100)")
	f.String("events", "", "append a line of JSON to this `file` for every event")
	f.String("models", "", "JSON `file` of models over the built-in table (default $ORIEL_MODELS)")
	f.String("condense-url", "",
		"base `URL` of a server that speaks OpenAI's chat format, to summarise what is removed; its key is $ORIEL_CONDENSE_KEY (default: none is asked)")
	f.String("condense-model", "", "`model` of that server")
	f.String("condense-prompt", "", "`file` with instructions of your own; {tokens} stands for the limit")
	f.String("condense", d.Condense.When,
		"when summaries are made: behind (in the background, for the next cut) or inline (the call that cuts waits)")
	f.String("condense-wait", "", "the longest `time` that a summary may take (default 2m, inline 20s)")
	s.data = addHistory(cmd)
	return s
}

// sources returns the sources of a command's settings.
func (s *settingsFlags) sources() (settings.Sources, error) {
	out := configSources(s.file)
	out.Env = os.Getenv
	var err error
	s.set.Visit(func(f *pflag.Flag) {
		if key := settings.KeyOfFlag(f.Name); key != "" {
			text := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				text = strings.Join(list.GetSlice(), ",")
			}
			out.Flags[key] = text
		}
	})
	for _, t := range s.thresholds {
		key, percent, bad := parseThreshold(t)
		if bad != nil {
			err = cmp.Or(err, fmt.Errorf("--threshold %s: %w", t, bad))
		}
		out.Flags[key] = percent
	}
	return out, err
}

// loadSettings loads settings that name a data folder.
func loadSettings(s settings.Sources) (*settings.Loaded, error) {
	l, err := settings.Load(s)
	if err == nil && l.Data == "" {
		l.Data, err = serve.UserFolder()
	}
	return l, err
}

// configSources returns sources with the settings file; name is the one on the
// command line.
func configSources(name string) settings.Sources {
	s := settings.Sources{File: cmp.Or(name, os.Getenv("ORIEL_CONFIG")), Flags: map[string]string{},
		Prices: settings.UserPrices()}
	if s.File == "" {
		s.File, s.Optional = settings.UserFile(), true
	}
	return s
}

// envOf returns a function that reads only the wanted environment variables.
func envOf(wanted func(name string) bool) func(string) string {
	return func(name string) string {
		if !wanted(name) {
			return ""
		}
		return os.Getenv(name)
	}
}

// parseThreshold parses a percent for all profiles, or NAME=PERCENT for one.
func parseThreshold(text string) (key, percent string, err error) {
	name, number, one := strings.Cut(text, "=")
	if !one {
		name, number = "all", text
	} else if p, err := window.LookupProfile(name); name == "" || err == nil && p.Off {
		return "", "", fmt.Errorf("the profile %q has no threshold: it cuts nothing", name)
	} // others may be in the settings file
	number = strings.TrimSuffix(number, "%")
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return "", "", fmt.Errorf("%q is not a number: give a percent such as 80, or chat=60", number)
	}
	return "thresholds." + name, number, nil
}
