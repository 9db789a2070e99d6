package serve

import (
	"errors"
	"strings"
	"testing"
)

func TestUserDataFollowsTheSystem(t *testing.T) {
	home := func() (string, error) { return "/home/ann", nil }
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		system string
		env    func(string) string
		want   string
	}{
		{"linux", env(), "/home/ann/.local/share/oriel"},
		{"linux", env("XDG_DATA_HOME", "/data"), "/data/oriel"},
		{"linux", env("XDG_DATA_HOME", "relative"), "/home/ann/.local/share/oriel"},
		{"freebsd", env(), "/home/ann/.local/share/oriel"},
		{"darwin", env("XDG_DATA_HOME", "/data"), "/home/ann/Library/Application Support/oriel"},
		{"windows", env("LocalAppData", "/appdata"), "/appdata/oriel"},
	} {
		got, err := userData(tc.system, tc.env, home)
		if err != nil || strings.ReplaceAll(got, `\`, "/") != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.system, got, err, tc.want)
		}
	}
	if _, err := userData("windows", env(), home); err == nil {
		t.Error("windows without LocalAppData: no error")
	}
	if _, err := userData("linux", env(), func() (string, error) { return "", errors.New("homeless") }); err == nil {
		t.Error("no home: no error")
	}
}
