package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// source returns an endless sequence of messages: those of the data over and
// over, in other conversations each time, or invented ones.
func source(ctx context.Context, data []string) (next func() recall.Message, err error) {
	if len(data) == 0 {
		return madeUp(), nil
	}
	store := memory.New()
	defer store.Close()
	report, err := importer.Import(ctx, store, data, importer.Options{})
	if err != nil {
		return nil, err
	}
	talks := report.Conversations
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(talks), func(i, j int) { talks[i], talks[j] = talks[j], talks[i] })
	var all []recall.Message
	for _, found := range talks {
		c, err := store.Conversation(ctx, timeline.Local, found.Name)
		if err != nil {
			return nil, err
		}
		reader := recall.Reader{Conversation: found.Name}
		err = store.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
			if m, ok := reader.Read(e); ok {
				m.Block = fmt.Sprintf("%s#%d", found.Name, e.Place.Depth)
				all = append(all, m)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%v: no messages", data)
	}
	i := 0
	return func() recall.Message {
		m := all[i%len(all)]
		if lap := i / len(all); lap > 0 {
			m.Conversation = fmt.Sprintf("%s %d", m.Conversation, lap)
			m.Block = fmt.Sprintf("%d %s", lap, m.Block)
		}
		i++
		return m
	}, nil
}

// madeUp returns chats of a user, about 25 words per message, with an
// assistant, about 150. Word frequencies follow Zipf's law, as in languages.
func madeUp() func() recall.Message {
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.1, 4, 60_000)
	when := time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)
	i := 0
	return func() recall.Message {
		m := recall.Message{Conversation: fmt.Sprint(i / 5000), Block: fmt.Sprint(i),
			Ref: fmt.Sprintf("%016x", r.Uint64()), Role: "user"}
		words := 25
		if i%2 == 1 {
			m.Role, words = "assistant", 150
		}
		var text strings.Builder
		for k := range 3 + int(float64(words)*math.Exp(r.NormFloat64()*.7)) {
			if k > 0 {
				text.WriteString([]string{" ", " ", " ", " ", " ", " ", " ", " ", ", ", ".\n"}[r.IntN(10)])
			}
			text.WriteString(word(zipf.Uint64()))
		}
		m.Text, m.Time = text.String()+".", when
		when = when.Add(time.Duration(r.ExpFloat64() * float64(20*time.Minute)))
		i++
		return m
	}
}

// word spells a number in syllables; frequent words are the shortest.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b []byte
	for n++; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		k := int(n) % (len(consonants) * len(vowels))
		b = append(b, consonants[k/len(vowels)], vowels[k%len(vowels)])
	}
	return string(b)
}
