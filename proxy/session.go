package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
)

// A browser cannot send a header with the first request for a page. It opens
// /oriel/?token=TOKEN once, gets a cookie, and is sent to the same address without the
// token, so that the token stays in no history and no Referer.
//
// The cookie does not contain the token, because browsers send a cookie to all ports of a
// host. It is derived from the token with a key of this process: it admits to Oriel's own
// paths only, ends with the token, and is worthless after a restart.
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

// sessionOf returns the cookie's value for a token, by the token's hash.
func (s *Server) sessionOf(hash [sha256.Size]byte) string {
	mac := hmac.New(sha256.New, s.sessionKey)
	mac.Write(hash[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// session returns the tenant of a browser that has logged in.
func (s *Server) session(cur *routing, r *http.Request, t *route) (string, bool) {
	if !t.own {
		return "", false
	}
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || r.Header.Get("X-Oriel-Token") != "" || t.token != "" || r.Header.Get("Authorization") != "" {
		return "", false
	}
	found := -1
	for i := range cur.tokens {
		if hmac.Equal([]byte(cookie.Value), []byte(s.sessionOf(cur.tokens[i].hash))) {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return cur.tokens[found].tenant, true
}

// login answers /oriel/?token=TOKEN.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	token := query.Get(loginParameter)
	query.Del(loginParameter)
	to := url.URL{Path: consolePath, RawQuery: query.Encode()}
	cur := s.routing.Load()
	if len(cur.tokens) > 0 {
		asked := r.Clone(r.Context())
		asked.Header.Set("X-Oriel-Token", token)
		if _, f := s.authorise(cur, asked, &route{own: true}); f != nil {
			refuse(w, openAI, f)
			return
		}
		http.SetCookie(w, &http.Cookie{
			Name: cookieName(r), Value: s.sessionOf(sha256.Sum256([]byte(token))), Path: consolePath,
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
	}
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}
