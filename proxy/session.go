package proxy

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"

	"github.com/oriel-context/oriel/timeline"
)

// A browser cannot send a header with the first request for a page. It opens
// /oriel/?token=TOKEN once, gets a cookie, and is sent to the same address without the
// token, so that the token stays in no history and no Referer.
//
// The cookie does not contain the token, because browsers send a cookie to all ports of a
// host. It is the token's hash, encrypted with a key of this process: it admits to Oriel's
// own paths only, ends with the token, and is worthless after a restart.
const (
	consolePath    = "/oriel/"
	loginParameter = "token"
)

// cookieName returns the name of the cookie, which differs between servers of one host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || port == "" {
		return "oriel"
	}
	return "oriel_" + port
}

// newSessionKey returns the key of this process's cookies.
func newSessionKey() cipher.AEAD {
	key := make([]byte, 32)
	rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // impossible for this size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// sessionOf returns the cookie's value for a token.
func (s *Server) sessionOf(hash timeline.TokenHash) string {
	return base64.RawURLEncoding.EncodeToString(s.sessionKey.Seal(nil, nil, hash[:], nil))
}

// session returns the hash of the token with which a browser has logged in.
func (s *Server) session(r *http.Request, t *route) (hash timeline.TokenHash, ok bool) {
	if !t.own {
		return hash, false
	}
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return hash, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return hash, false
	}
	plain, err := s.sessionKey.Open(nil, nil, sealed, nil)
	return hash, err == nil && copy(hash[:], plain) == len(hash)
}

// login answers /oriel/?token=TOKEN.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	token := query.Get(loginParameter)
	query.Del(loginParameter)
	to := url.URL{Path: consolePath, RawQuery: query.Encode()}
	asked := r.Clone(r.Context())
	asked.Header.Set("X-Oriel-Token", token)
	own := &route{own: true}
	if _, f := s.authorise(s.routing.Load(), asked, own); f != nil {
		refuse(w, openAI, f)
		return
	}
	if s.usesToken(s.routing.Load(), token) {
		http.SetCookie(w, &http.Cookie{
			Name: cookieName(r), Value: s.sessionOf(timeline.HashToken(token)), Path: consolePath,
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
	}
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}
