package term

import "testing"

func TestCompact(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1.0k", 99_949: "99.9k", 99_950: "100k",
		926_500: "926k", 63_910_081: "63.9M", 12_345_678_901: "12.3G"} {
		if got := Compact(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_949: "99.9 kB", 123_456: "123 kB",
		2_000_000_000: "2.0 GB", 1 << 62: "4611686 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
