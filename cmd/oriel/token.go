package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of a team's server",
		Long: `Make, list and revoke the tokens with which clients use oriel serve. A token belongs
to a tenant: its holders share a history, and nobody else sees it. The role call may
make calls, read the history and change its notes; the role read may only read.

A client sends its token as the header X-Oriel-Token, or has /k/TOKEN before the path
in its base URL; on /oriel/… it may be a bearer token. A running server accepts a new
token at once, and refuses a revoked one within 2 seconds.`,
		Example: `  oriel token add --tenant ann
  oriel token list
  oriel token revoke 5f1c09`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
	}
	cmd.AddCommand(tokenAddCommand(), tokenListCommand(), tokenRevokeCommand())
	return cmd
}

func tokenAddCommand() *cobra.Command {
	var tenant, role, expires string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Make a token and print it once",
		Long: `Make a random token for a tenant and print it, alone on standard output. It is shown
only now: the store has its hash. A tenant needs no other preparation.`,
		Example: `  oriel token add --tenant ann
  oriel token add --tenant ann --role read --expires 90d
  ORIEL_TOKEN=$(oriel token add --tenant build --expires 2027-01-01)`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "`name` of the tenant: letters, digits and ._@-")
	cmd.Flags().StringVar(&role, "role", timeline.RoleCall, "`call` or read: what its holder may do")
	cmd.Flags().StringVar(&expires, "expires", "",
		"`when` it ends: 12h, 90d, 8w, 2027-01-01 or RFC 3339 (default never)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		now := time.Now()
		t := timeline.AccessToken{Tenant: tenant, Role: role, Created: now}
		err := checkTenant(tenant)
		if err == nil && role != timeline.RoleCall && role != timeline.RoleRead {
			err = fmt.Errorf("%q is not a role: use --role call or --role read", term.OneLine(role, 40))
		}
		if err == nil {
			t.Expires, err = expiry(expires, now)
		}
		if err != nil {
			return err
		}
		secret := access.NewToken()
		t.Hash = timeline.HashToken(secret)
		if err := t.Check(); err != nil {
			return err
		}
		store, err := data.serve(cmd.Context(), sqlite.Full, nil)
		if err != nil {
			return &failure{err}
		}
		if err := finish(store, nil, func(s timeline.Store) error { return s.AddToken(cmd.Context(), t) }); err != nil {
			return &failure{err}
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), struct {
				Token string `json:"token"`
				tokenLine
			}{secret, lineOf(&t, now)})
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "token %s of the tenant %s, role %s, expires %s; it is shown only now:\n",
			t.Hash.ID(), tenant, role, orNever(t.Expires))
		_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
		return err
	}
	return cmd
}

// tenantName has no limit of length: a hundred copies of these classes took half of the
// time in which oriel starts.
var tenantName = regexp.MustCompile(`^[\pL\pN][\pL\pN._@-]*$`)

// checkTenant refuses names that are hard to read in settings and logs.
func checkTenant(name string) error {
	switch {
	case name == "":
		return errors.New("no tenant: give --tenant NAME, whose history the token opens")
	case !tenantName.MatchString(name) || utf8.RuneCountInString(name) > 100:
		return fmt.Errorf(
			"%q is not a name of a tenant: use at most 100 letters, digits and ._@-, and begin with a letter or digit",
			term.OneLine(name, 60))
	}
	return nil
}

// expiry reads when a token ends; "" is never.
func expiry(text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if d, err := report.Age(text); err == nil {
		at = now.Add(d)
	} else {
		for _, form := range []string{time.RFC3339, "2006-01-02 15:04", time.DateOnly} {
			if at, err = time.ParseInLocation(form, text, now.Location()); err == nil {
				break
			}
		}
		if err != nil {
			return at, fmt.Errorf("%q is not an expiry: give one such as 12h, 90d, 2027-01-01 or 2027-01-01T15:04:05Z",
				term.OneLine(text, 60))
		}
	}
	if !at.After(now) {
		return at, fmt.Errorf("%q is over: give a time to come, such as 90d", term.OneLine(text, 60))
	}
	return at, nil
}

// tokenLine is a token as a line of JSON.
type tokenLine struct {
	ID      string     `json:"id"`
	Tenant  string     `json:"tenant"`
	Role    string     `json:"role"`
	State   string     `json:"state"` // valid, expired or revoked
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

func lineOf(t *timeline.AccessToken, now time.Time) tokenLine {
	l := tokenLine{ID: t.Hash.ID(), Tenant: t.Tenant, Role: t.Role, State: "valid", Created: timeline.Micro(t.Created)}
	if !t.Expires.IsZero() {
		at := timeline.Micro(t.Expires)
		l.Expires = &at
	}
	switch {
	case !t.Revoked.IsZero():
		l.State, l.Revoked = "revoked", &t.Revoked
	case !t.Valid(now):
		l.State = "expired"
	}
	return l
}

// orNever returns a time for people.
func orNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func tokenListCommand() *cobra.Command {
	var tenant string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens without their texts",
		Long: `List the tokens of all tenants: id, tenant, role, state (valid, expired or revoked),
when each was made and when it ends. The tokens themselves are not stored. The role
console is that of a browser that has signed in to the console with a token; revoking it
signs that browser out.`,
		Example: `  oriel token list
  oriel token list --tenant ann --json`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only those of this tenant, by `name`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a token")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := data.tokens(cmd.Context())
		if err := tolerateNone(cmd, err); err != nil {
			return err
		}
		now := time.Now()
		out := term.Table{Left: []bool{true, true, true, true, true, true}}
		out.Row("id", "tenant", "role", "state", "created", "expires")
		for i := range all {
			t := &all[i]
			if tenant != "" && t.Tenant != tenant {
				continue
			}
			l := lineOf(t, now)
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), l); err != nil {
					return err
				}
			}
			out.Row(l.ID, l.Tenant, l.Role, l.State, orNever(t.Created), orNever(t.Expires))
		}
		if asJSON {
			return nil
		}
		if len(out.Rows) == 1 {
			_, err = fmt.Fprintln(cmd.ErrOrStderr(), "no tokens: oriel token add --tenant NAME makes one")
			return err
		}
		var b bytes.Buffer
		out.Draw(&b)
		_, err = cmd.OutOrStdout().Write(b.Bytes())
		return err
	}
	return cmd
}

// tokens returns all tokens of an existing history.
func (h *history) tokens(ctx context.Context) (all []timeline.AccessToken, err error) {
	err = h.with(ctx, func(s tenantStore) (err error) {
		if all, err = s.Tokens(ctx); err != nil {
			return &failure{err}
		}
		return nil
	})
	return all, err
}

func tokenRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token",
		Long: `Revoke a token permanently. ID is that of oriel token list, a unique beginning of it, or
the token itself. Running servers refuse it within 2 seconds, as long as their store
answers. The history of its tenant stays.`,
		Example: "  oriel token revoke 5f1c09",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d arguments: give the id of a token, which oriel token list prints", len(args))
			}
			return nil
		},
	}
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := data.tokens(cmd.Context())
		if err != nil {
			return err
		}
		found, err := findToken(all, args[0])
		if err != nil {
			return err
		}
		if err := data.change(cmd.Context(), func(s tenantStore) error {
			return s.RevokeToken(cmd.Context(), found.Hash, time.Now())
		}); err != nil {
			return &failure{err}
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %s of the tenant %s\n", found.Hash.ID(), found.Tenant)
		return err
	}
	return cmd
}

// findToken returns the token that a person means.
func findToken(all []timeline.AccessToken, text string) (timeline.AccessToken, error) {
	var found []timeline.AccessToken
	for _, t := range all {
		if access.InText(text) == text && t.Hash == timeline.HashToken(text) ||
			text != "" && strings.HasPrefix(t.Hash.ID(), strings.ToLower(text)) {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return timeline.AccessToken{}, fmt.Errorf("%d tokens begin with %q: give more of the id", len(found),
			term.OneLine(text, 20))
	case access.InText(text) != "":
		return timeline.AccessToken{}, errors.New("there is no such token: oriel token list shows all")
	}
	return timeline.AccessToken{}, fmt.Errorf("there is no token %q: oriel token list shows all", term.OneLine(text, 20))
}
