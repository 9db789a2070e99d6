package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"pgregory.net/rapid"
)

// tokenFor returns a token of a tenant that was created at noon.
func tokenFor(tenant, secret string) timeline.AccessToken {
	return timeline.AccessToken{Hash: timeline.HashToken(secret), Tenant: tenant,
		Role: timeline.RoleCall, Created: noon}
}

func (f *fixture) addToken(t timeline.AccessToken) {
	f.Helper()
	if err := f.AddToken(ctx, t); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) token(secret string) timeline.AccessToken {
	f.Helper()
	t, err := f.Token(ctx, timeline.HashToken(secret))
	if err != nil {
		f.Fatal(err)
	}
	return t
}

var tokenCases = []testCase{
	{"are found by their hash as they were added", func(f *fixture) {
		a, b := tokenFor("a", "one"), tokenFor("b", "two")
		a.Created = noon.Add(time.Second + 1234567*time.Nanosecond)
		b.Role, b.Expires = timeline.RoleRead, noon.Add(90*24*time.Hour)
		f.addToken(a)
		f.addToken(b)
		f.equal("a", f.token("one"), a.Micro())
		f.equal("b", f.token("two"), b)
		if _, err := f.Token(ctx, timeline.HashToken("three")); !errors.Is(err, timeline.ErrNoToken) {
			f.Error(err)
		}
		all, err := f.Tokens(ctx)
		if err != nil {
			f.Error(err)
		}
		f.equal("all, by time", all, []timeline.AccessToken{b, a.Micro()})
	}},
	{"of sessions that have ended are deleted when one is added", func(f *fixture) {
		session := func(secret string, created, expires time.Time) timeline.AccessToken {
			t := tokenFor("a", secret)
			t.Role, t.Created, t.Expires = timeline.RoleConsole, created, expires
			f.addToken(t)
			return t
		}
		token := tokenFor("a", "token")
		token.Expires = noon.Add(time.Minute) // a token stays listed
		f.addToken(token)
		session("old", noon, noon.Add(time.Hour))
		session("revoked", noon, noon.Add(5*time.Hour))
		if err := f.RevokeToken(ctx, timeline.HashToken("revoked"), noon); err != nil {
			f.Error(err)
		}
		valid := session("valid", noon.Add(time.Minute), noon.Add(2*time.Hour))
		last := session("new", noon.Add(time.Hour), noon.Add(3*time.Hour))
		all, err := f.Tokens(ctx)
		if err != nil {
			f.Error(err)
		}
		f.equal("left", all, []timeline.AccessToken{token, valid, last})

		// A token that is there, ended or not, stays and ends nothing.
		again := valid
		again.Created = noon.Add(4 * time.Hour)
		again.Expires = again.Created.Add(time.Hour)
		if err := f.AddToken(ctx, again); !errors.Is(err, timeline.ErrInvalid) {
			f.Errorf("a session that is there: %v", err)
		}
		all, err = f.Tokens(ctx)
		if err != nil {
			f.Error(err)
		}
		f.equal("left", all, []timeline.AccessToken{token, valid, last})
	}},
	{"are revoked once and stay listed", func(f *fixture) {
		f.addToken(tokenFor("a", "one"))
		f.addToken(tokenFor("a", "two"))
		for i := range 2 {
			if err := f.RevokeToken(ctx, timeline.HashToken("one"),
				noon.Add(time.Duration(i+1)*time.Hour)); err != nil {
				f.Error(err)
			}
		}
		f.equal("revoked", f.token("one").Revoked, noon.Add(time.Hour))
		f.equal("the other", f.token("two"), tokenFor("a", "two"))
		if err := f.RevokeToken(ctx, timeline.HashToken("three"), noon); !errors.Is(err, timeline.ErrNoToken) {
			f.Error(err)
		}
		all, _ := f.Tokens(ctx)
		f.equal("listed", len(all), 2)
	}},
	{"are refused if they are not whole, or there already", func(f *fixture) {
		f.addToken(tokenFor("a", "one"))
		for name, spoil := range map[string]func(*timeline.AccessToken){
			"there already": func(t *timeline.AccessToken) { t.Hash = timeline.HashToken("one") },
			"no hash":       func(t *timeline.AccessToken) { t.Hash = timeline.TokenHash{} },
			"no tenant":     func(t *timeline.AccessToken) { t.Tenant = "" },
			"long tenant":   func(t *timeline.AccessToken) { t.Tenant = strings.Repeat("x", timeline.MaxName+1) },
			"no role":       func(t *timeline.AccessToken) { t.Role = "" },
			"unknown role":  func(t *timeline.AccessToken) { t.Role = "admin" },
			"no time":       func(t *timeline.AccessToken) { t.Created = time.Time{} },
		} {
			t := tokenFor("b", "two")
			spoil(&t)
			if err := f.AddToken(ctx, t); !errors.Is(err, timeline.ErrInvalid) {
				f.Errorf("%s: %v", name, err)
			}
		}
		f.equal("the first", f.token("one"), tokenFor("a", "one"))
		if all, err := f.Tokens(ctx); err != nil || len(all) != 1 {
			f.Error(all, err)
		}
	}},
	{"are no history", func(f *fixture) {
		f.addToken(tokenFor(timeline.Local, "one"))
		f.equal("stats", f.stats(), timeline.Stats{})
	}},
}

// token adds, reads or revokes one of few tokens.
func (m *machine) token(r *rapid.T) {
	secret := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(r, "token")
	hash := timeline.HashToken(secret)
	switch rapid.IntRange(0, 2).Draw(r, "how") {
	case 0:
		t := tokenFor(tenantName(r), secret)
		t.Created, t.Role = m.now(),
			rapid.SampledFrom([]string{timeline.RoleCall, timeline.RoleRead, timeline.RoleConsole, "other"}).Draw(r,
				"role")
		if rapid.Bool().Draw(r, "expires") {
			t.Expires = t.Created.Add(time.Minute)
		}
		err := m.model.AddToken(ctx, t)
		for _, s := range m.peers {
			m.failed(r, "add a token", err, s.store.AddToken(ctx, t))
		}
	case 1:
		now := m.now()
		err := m.model.RevokeToken(ctx, hash, now)
		for _, s := range m.peers {
			m.failed(r, "revoke a token", err, s.store.RevokeToken(ctx, hash, now))
		}
	}
	want, err := m.model.Token(ctx, hash)
	for _, s := range m.peers {
		got, err2 := s.store.Token(ctx, hash)
		if !m.failed(r, "token", err, err2) {
			m.equal(r, "token", want, got)
		}
	}
}

func (m *machine) sameTokens(r *rapid.T) {
	r.Helper()
	want, err := m.model.Tokens(ctx)
	for _, s := range m.peers {
		got, err2 := s.store.Tokens(ctx)
		if !m.failed(r, "tokens", err, err2) && !slices.Equal(want, got) {
			m.equal(r, "tokens", want, got)
		}
	}
}
