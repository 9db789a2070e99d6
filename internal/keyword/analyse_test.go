package keyword

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// referenceWords is the definition of the terms that count, for ASCII text and
// the typographic apostrophe: its figures in recall were measured with it.
func referenceWords(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	text = strings.ReplaceAll(text, "'s", "")
	stop := strings.Fields(stopWords)
	words := []string{}
	for _, w := range regexp.MustCompile(`[a-z0-9']+`).FindAllString(text, -1) {
		if !slices.Contains(stop, w) {
			words = append(words, referenceStem(w))
		}
	}
	return words
}

func referenceStem(w string) string {
	r := w
	for _, suffix := range []string{"ingly", "edly", "ings", "ing", "ies", "ied", "ed", "ly", "es", "s"} {
		if strings.HasSuffix(w, suffix) && len(w)-len(suffix) >= 3 {
			r = w[:len(w)-len(suffix)]
			if suffix == "ies" || suffix == "ied" {
				r += "y"
			}
			break
		}
	}
	if n := len(r); r != w && n > 3 && r[n-1] == r[n-2] && r[n-1] != 's' && r[n-1] != 'l' {
		r = r[:n-1]
	}
	if n := len(r); n > 3 && r[n-1] == 'e' {
		r = r[:n-1]
	}
	if n := len(r); n > 3 && r[n-1] == 'y' {
		r = r[:n-1] + "i"
	}
	return r
}

// split returns the terms that count and those that do not.
func split(text string) (counted, extra []string) {
	counted, extra = []string{}, []string{}
	for _, w := range new(Analyser).Words(text) {
		if w.Extra {
			extra = append(extra, w.Text)
		} else {
			counted = append(counted, w.Text)
		}
	}
	return counted, extra
}

const english = `Caroline's been running her support group since May 2023; they're meeting "every other Tuesday".
She'd stopped, jokingly and reportedly, after the kings' buildings were studied: 'she said it's nothing special'.
I’ve carried the dogs’ toys, the babies' beds and 3 well-planned recipes to Melanie’s. Who hopped, planned, tried or agreed?
It was 7:30pm - well after the concert... wasn't it? The U.S. team's flies buzzed; buses passed, boss's classes fell.`

func TestPlainEnglishHasExactlyTheTermsOfTheReference(t *testing.T) {
	counted, _ := split(english)
	if diff := cmp.Diff(referenceWords(english), counted); diff != "" {
		t.Errorf("terms that count (-reference +ours):\n%s", diff)
	}
	_, extra := split(
		"Melanie said she went hiking with the kids on 5 July, and they're going again. Didn’t Bob’s team win?")
	if len(extra) > 0 {
		t.Errorf("plain sentences have further terms: %q", extra)
	}
}

func TestAnyTextOfShortRunsHasTheTermsOfTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[ -~’]{0,20}`),
			rapid.StringMatching(`[a-z]{1,5}(ingly|edly|ings|ing|ies|ied|ed|ly|es|s|e|y)`),
			rapid.StringMatching(`['’sSteEdDy]{1,8}`),
			rapid.StringMatching(`[a-z]{0,4}[A-Z_./-][a-z]{0,4}`),
			rapid.SampledFrom(strings.Fields(stopWords)),
		)).Draw(t, "words")
		text := strings.Join(words, " ")
		counted, _ := split(text)
		if diff := cmp.Diff(referenceWords(text), counted); diff != "" {
			t.Errorf("%q: terms that count (-reference +ours):\n%s", text, diff)
		}
	})
}

func TestTermsOfOtherScripts(t *testing.T) {
	tests := []struct{ name, text, counted, extra string }{
		{"accents go", "Café Zürich naïve façade Łódź", "caf zurich naiv facad lodz", ""},
		{"decomposed letters are the composed ones", "Cafe\u0301 Zu\u0308rich", "caf zurich", ""},
		{"letters that fold to two", "Straße Œuvre Æsir þing", "strass oeuvr aesir thing", ""},
		{"Vietnamese", "Nguyễn Đường", "nguyen duong", ""},
		{"Greek", "Αθήνα λόγος", "αθηνα λογοσ", ""},
		{"Cyrillic", "Ёлка и йод", "елка и иод", ""},
		{"Arabic and Hebrew", "مرحبا שלום", "مرحبا שלום", ""},
		{"marks stay inside a word", "हिन्दी में", "हिन्दी में", ""},
		{"digits of other scripts", "٢٠٢٣", "٢٠٢٣", ""},
		{"full-width forms are ASCII", "ＡＢＣ１２", "abc12", ""},
		{"Chinese: pairs count, characters find", "我喜欢猫。", "我喜 喜欢 欢猫", "我 喜 欢 猫"},
		{"one Chinese character counts", "猫!", "猫", ""},
		{"Japanese: pairs, and kanji alone", "猫です", "猫で です", "猫"},
		{"Korean", "고양이", "고양 양이", ""},
		{"Thai", "แมว", "แม มว", ""},
		{"scripts next to each other", "Go言語v2", "go 言語 v2", "言 語"},
		{"an elided article", "l’hôpital d'accord", "l'hopital d'accord", "hopital accord"},
		{"soft hyphens and joiners", "co\u00adoperate", "cooperat", ""},
		{"what is no word", "— … “” 🙂 €", "", ""},
		{"bytes that are not UTF-8", "ab\xffcd \xc3", "ab cd", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			counted, extra := split(test.text)
			if diff := cmp.Diff([2][]string{strings.Fields(test.counted), strings.Fields(test.extra)},
				[2][]string{counted, extra}); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestStopWordsCanBeKept(t *testing.T) {
	a := Analyser{KeepStopWords: true}
	if got := a.Words("where is it"); len(got) != 3 {
		t.Errorf("kept %v, want three words", got)
	}
	if got := new(Analyser).Words("Where is THE it's"); len(got) != 0 {
		t.Errorf("kept %v, want nothing", got)
	}
}

func TestTermsAreTheHashesOfWords(t *testing.T) {
	var a Analyser
	terms, length := a.Terms(nil, english)
	words := a.Words(english)
	if len(terms) != len(words) {
		t.Fatalf("%d terms, %d words", len(terms), len(words))
	}
	counted, _ := split(english)
	if length != len(counted) {
		t.Errorf("length %d, want %d", length, len(counted))
	}
	seen := map[Term]string{}
	for i, w := range words {
		if other, ok := seen[terms[i]]; ok && other != w.Text {
			t.Errorf("%q and %q have one hash", w.Text, other)
		}
		seen[terms[i]] = w.Text
	}
	if len(seen) < 50 {
		t.Errorf("only %d distinct terms", len(seen))
	}
}

func TestTermsAllocateNothing(t *testing.T) {
	var a Analyser
	dst := make([]Term, 0, 1000)
	text := english + " internal/http2/flow_control.go parseHTTPRequest 我喜欢猫 Zürich"
	if n := testing.AllocsPerRun(20, func() { a.Terms(dst, text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTerms looks for texts that break a promise about terms: they are valid
// UTF-8, no longer than maxTerm, at most two for a byte of text; and a text that
// comes twice, on two lines, has its terms twice.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{english, "a/b_c.d-e__f/.g", "我喜欢猫 Zürich ’s 'S", "x\xff'\u0301",
		strings.Repeat("aB3", 90), strings.Repeat("é", 300), "l’" + strings.Repeat("ß", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a Analyser
		words := a.Words(text)
		terms, length := a.Terms(nil, text)
		counted := 0
		for _, w := range words {
			if !w.Extra {
				counted++
			}
			if !utf8.ValidString(w.Text) || w.Text == "" || len(w.Text) > maxTerm {
				t.Fatalf("%q: term %q", text, w.Text)
			}
		}
		if len(terms) != len(words) || length != counted || len(terms) > 2*len(text) {
			t.Fatalf("%q: %d terms, length %d; %d words, %d of them counted", text, len(terms), length, len(words),
				counted)
		}
		twice, _ := a.Terms(nil, text+"\n"+text)
		if !slices.Equal(twice, append(slices.Clone(terms), terms...)) {
			t.Fatalf("%q: on two lines other terms", text)
		}
	})
}
