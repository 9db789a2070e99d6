package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// command returns what the service runs.
func (s *service) command() []string {
	argv := []string{s.program, "serve"}
	if s.config != "" {
		argv = append(argv, "--config", s.config)
	}
	return argv
}

// file returns the path and the text of the service's description.
func (s *service) file() (path, text string) {
	switch s.goos {
	case "darwin":
		return filepath.Join(s.home, "Library", "LaunchAgents", agentName+".plist"), s.agent()
	case "windows":
		return filepath.Join(s.home, "AppData", "Local", "oriel", "service.xml"), s.task()
	}
	config := s.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(s.home, ".config")
	}
	return filepath.Join(config, "systemd", "user", unitName), s.unit()
}

// serviceMark is in a comment of each description, by which it is known again.
const serviceMark = "written by oriel service install, which overwrites changes"

// unit returns the systemd unit.
func (s *service) unit() string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`)
	words := []string{`"` + strings.ReplaceAll(s.program, `%`, `%%`) + `"`} // no variables are read there
	for _, w := range s.command()[1:] {
		words = append(words, `"`+quote.Replace(w)+`"`)
	}
	return `# ` + serviceMark + `: make them with systemctl --user edit oriel
[Unit]
Description=Oriel, a context manager for agents
StartLimitIntervalSec=0

[Service]
ExecStart=` + strings.Join(words, " ") + `
Restart=on-failure
RestartSec=2

[Install]
WantedBy=default.target
`
}

// agent returns the property list of the launchd agent.
func (s *service) agent() string {
	var words strings.Builder
	for _, w := range s.command() {
		words.WriteString("\t\t<string>" + escapeXML(w) + "</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + serviceMark + ` -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + agentName + `</string>
	<key>ProgramArguments</key>
	<array>
` + words.String() + `	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>StandardErrorPath</key>
	<string>` + escapeXML(filepath.Join(s.home, "Library", "Logs", "oriel.log")) + `</string>
</dict>
</plist>
`
}

// task returns the scheduled task of Windows. Without ExecutionTimeLimit it would end after
// three days.
func (s *service) task() string {
	argv := s.command()
	arguments := argv[1]
	if s.config != "" {
		arguments += ` --config "` + s.config + `"`
	}
	return `<?xml version="1.0" encoding="UTF-16"?>
<!-- ` + serviceMark + ` -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
    <LogonTrigger>
      <UserId>` + escapeXML(s.user) + `</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>` + escapeXML(s.user) + `</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>` + escapeXML(argv[0]) + `</Command>
      <Arguments>` + escapeXML(arguments) + `</Arguments>
    </Exec>
  </Actions>
</Task>
`
}

// installedConfig returns the settings file that the description at a path names, or "" if it
// is the usual one.
func (s *service) installedConfig(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if s.goos == "linux" {
		_, config, _ := strings.Cut(string(data), `" "--config" "`)
		config, _, _ = strings.Cut(config, "\"\n")
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`, `$$`, `$`).Replace(config), nil
	}
	text := string(data)
	if s.goos == "windows" {
		text = fromUTF16(data)
	}
	words, err := xmlWords(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	for i, w := range words {
		if w == "--config" && i+1 < len(words) {
			return words[i+1], nil
		}
		if config, ok := strings.CutPrefix(w, `serve --config "`); ok { // of a task
			return strings.TrimSuffix(config, `"`), nil
		}
	}
	return "", nil
}

// xmlWords returns the text of the elements of a document that have no others in them.
func xmlWords(text string) (words []string, err error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is in UTF-8 already
	word := ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words, nil
		}
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			word = ""
		case xml.CharData:
			word += string(e)
		case xml.EndElement:
			words = append(words, word)
			word = ""
		}
	}
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// fromUTF16 returns the text that inUTF16 was given.
func fromUTF16(data []byte) string {
	var units []uint16
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, uint16(data[i])|uint16(data[i+1])<<8)
	}
	return string(utf16.Decode(units))
}

// inUTF16 returns a text as Windows wants the description of a task.
func inUTF16(text string) []byte {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = append(data, byte(unit), byte(unit>>8))
	}
	return data
}
