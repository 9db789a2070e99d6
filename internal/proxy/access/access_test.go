package access_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// store is a store in memory that counts what it is asked and can fail or hang.
type store struct {
	*memory.Store
	asked atomic.Int64
	fail  atomic.Bool
	hang  chan struct{} // nil: it does not
}

func (s *store) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	s.asked.Add(1)
	if s.hang != nil {
		<-s.hang // whatever the context says
	}
	if s.fail.Load() {
		return timeline.AccessToken{}, errors.New("gone")
	}
	return s.Store.Token(ctx, hash)
}

// add adds a token and returns its hash.
func (s *store) add(t *testing.T, expires time.Time) timeline.TokenHash {
	t.Helper()
	hash := timeline.HashToken(access.NewToken())
	if err := s.AddToken(t.Context(), timeline.AccessToken{Hash: hash, Tenant: "ann", Role: timeline.RoleCall,
		Created: time.Now(), Expires: expires}); err != nil {
		t.Fatal(err)
	}
	return hash
}

func expect(t *testing.T, tokens *access.Tokens, hash timeline.TokenHash, want error) {
	t.Helper()
	if got, err := tokens.Find(t.Context(), hash); !errors.Is(err, want) ||
		want == nil && (err != nil || got.Tenant != "ann") {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
}

func TestARevokedTokenIsRefusedWithinSecondsAndTheStoreIsNotAskedWithEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Store: memory.New()}
		hash := s.add(t, time.Time{})
		tokens := access.New(s, nil)
		for range 1000 {
			expect(t, tokens, hash, nil)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		if err := s.RevokeToken(t.Context(), hash, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(access.Lifetime)
		expect(t, tokens, hash, access.ErrRevoked)
	})
}

func TestATokenIsRefusedFromItsExpiryOnAlsoWhileItIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Store: memory.New()}
		hash := s.add(t, time.Now().Add(time.Second))
		tokens := access.New(s, nil)
		expect(t, tokens, hash, nil)
		time.Sleep(time.Second)
		expect(t, tokens, hash, access.ErrExpired)
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestUnknownTokensAreRememberedWithinABoundAndFoundOnceTheyAreAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Store: memory.New()}
		tokens := access.New(s, nil)
		hash := timeline.HashToken("later")
		for range 10 {
			expect(t, tokens, hash, access.ErrUnknown)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		for range 3000 {
			expect(t, tokens, timeline.HashToken(access.NewToken()), access.ErrUnknown)
		}
		if n := access.RememberedForTest(tokens); n > 1024 {
			t.Errorf("%d are remembered", n)
		}
		if err := s.AddToken(t.Context(), timeline.AccessToken{Hash: hash, Tenant: "ann", Role: timeline.RoleRead,
			Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(access.Lifetime)
		expect(t, tokens, hash, nil)
	})
}

func TestWhileTheStoreIsGoneKnownTokensHoldAndOthersAreRefusedAsUnchecked(t *testing.T) {
	for _, way := range []string{"fails", "hangs"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{Store: memory.New()}
				known, other := s.add(t, time.Time{}), s.add(t, time.Time{})
				soon := s.add(t, time.Now().Add(time.Hour))
				tokens := access.New(s, nil)
				expect(t, tokens, known, nil)
				expect(t, tokens, soon, nil)
				if way == "fails" {
					s.fail.Store(true)
				} else {
					s.hang = make(chan struct{})
				}
				time.Sleep(access.Lifetime)
				began := time.Now()
				expect(t, tokens, known, nil)
				if took := time.Since(began); took > 50*time.Millisecond {
					t.Errorf("a known token waited %v", took)
				}
				expect(t, tokens, other, access.ErrUnavailable)
				time.Sleep(time.Hour)
				expect(t, tokens, known, nil)
				expect(t, tokens, soon, access.ErrExpired)
				time.Sleep(access.Grace)
				expect(t, tokens, known, access.ErrUnavailable)
				if s.hang != nil {
					close(s.hang)
				}
				s.fail.Store(false)
				time.Sleep(access.Lifetime)
				expect(t, tokens, known, nil)
				expect(t, tokens, other, nil)
			})
		})
	}
}

func TestTheWorkAtAStoreThatHangsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Store: memory.New(), hang: make(chan struct{})}
		tokens := access.New(s, nil)
		for range 200 {
			go tokens.Find(t.Context(), timeline.HashToken(access.NewToken()))
		}
		synctest.Wait()
		if n := s.asked.Load(); n != 64 {
			t.Errorf("asked %d at a time", n)
		}
		close(s.hang)
		synctest.Wait()
	})
}

func TestTokensAreRandomAndFoundInTexts(t *testing.T) {
	token := access.NewToken()
	if token == access.NewToken() || len(token) != 58 {
		t.Error(token)
	}
	for text, want := range map[string]string{
		token: token, "Bearer " + token + ",": token, "x" + token + "=": token, "oriel_" + token: token,
		"": "", "oriel_": "", token[:57]: "", strings.ToUpper(token): "", "oriel_8780": "",
	} {
		if got := access.InText(text); got != want {
			t.Errorf("%q in %q", got, text)
		}
	}
}
