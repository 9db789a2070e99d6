package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Roles of a token.
const (
	// RoleCall may make calls, read the tenant's history and change its notes.
	RoleCall = "call"
	// RoleRead may read the tenant's history. It makes no calls and changes nothing.
	RoleRead = "read"
	// RoleConsole is that of a browser which has signed in with a token: not a token
	// itself, and nothing that a client can send in the place of one.
	RoleConsole = "console"
)

// TokenHash is the SHA-256 of a token.
type TokenHash [sha256.Size]byte

// HashToken returns the hash of a token.
func HashToken(token string) TokenHash { return sha256.Sum256([]byte(token)) }

// ID returns the name that people use for the token: the beginning of its hash. It
// reveals nothing of the token.
func (h TokenHash) ID() string { return hex.EncodeToString(h[:6]) }

// AccessToken admits a client to a server as a tenant. A store has its hash, never the token
// itself.
type AccessToken struct {
	Hash   TokenHash
	Tenant string
	// Role is RoleCall, RoleRead or RoleConsole.
	Role string
	// Created is required. Times are stored like those of messages.
	Created time.Time
	// Expires is the time from which the token is not valid. Zero: never.
	Expires time.Time
	// Revoked is the time of the revocation. Zero: the token is not revoked.
	Revoked time.Time
}

// Valid reports whether the token admits anybody at a time.
func (t *AccessToken) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// Check returns an ErrInvalid if no store can keep the token.
func (t *AccessToken) Check() error {
	switch {
	case t.Hash == TokenHash{}:
		return fmt.Errorf("%w: a token without its hash", ErrInvalid)
	case t.Role != RoleCall && t.Role != RoleRead && t.Role != RoleConsole:
		return fmt.Errorf("%w: role %.40q of a token: use %s or %s", ErrInvalid, t.Role, RoleCall, RoleRead)
	case t.Created.IsZero():
		return fmt.Errorf("%w: a token without the time of its creation", ErrInvalid)
	}
	return checkName("tenant", t.Tenant)
}

// Micro returns the token with its times in the precision in which they are stored.
func (t AccessToken) Micro() AccessToken {
	for _, at := range []*time.Time{&t.Created, &t.Expires, &t.Revoked} {
		if !at.IsZero() {
			*at = Micro(*at)
		}
	}
	return t
}
