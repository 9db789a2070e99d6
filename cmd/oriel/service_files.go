package main

import (
	"encoding/xml"
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

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// inUTF16 returns a text as Windows wants the description of a task.
func inUTF16(text string) []byte {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = append(data, byte(unit), byte(unit>>8))
	}
	return data
}
