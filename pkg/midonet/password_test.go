// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// TestPasswordFile checks that the password is the content of the file without the final line break, and that no error contains it.
func TestPasswordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	for _, tc := range []struct{ content, want string }{
		{"open", "open"}, {"open\n", "open"}, {"open\r\n", "open"}, {" two words ", " two words "}, {"\n", ""},
	} {
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := PasswordFile(path)()
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q: got %q, %v", tc.content, got, err)
		}
	}
	if _, err := PasswordFile(path + "-none")(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// TestPasswordOfTheMoment checks that each login reads the password, and that no error contains it, even if the server repeats it.
func TestPasswordOfTheMoment(t *testing.T) {
	passwords := []string{"old", "new"}
	var requests int
	server, c, _ := connect(t, fake.Options{Username: "admin", Password: "new"}, Options{
		Credentials: Credentials{Username: "admin"},
		Password:    func() (string, error) { requests++; return passwords[min(requests, len(passwords))-1], nil },
	})
	if err := server.Inject(fake.Fault{Path: "/hosts", Status: http.StatusBadRequest, Message: "old or new?", Times: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Hosts(t.Context())
	if !IsLogin(err) || IsInvalid(err) || IsFenced(err) || requests != 1 {
		t.Errorf("the old password, requested %d times: %v", requests, err)
	}
	c.session.until = c.session.until.Add(-loginPause)
	_, err = c.Hosts(t.Context())
	if err == nil || IsLogin(err) || strings.Contains(err.Error(), "new") || requests != 2 {
		t.Errorf("the new password, requested %d times: %v", requests, err)
	}
	if _, err = c.Hosts(t.Context()); err != nil || requests != 2 {
		t.Errorf("with a token, requested %d times: %v", requests, err)
	}
}

// TestNoPassword checks that no login is sent without a password.
func TestNoPassword(t *testing.T) {
	server, c, _ := connect(t, fake.Options{Username: "admin", Password: "open"}, Options{
		Credentials: Credentials{Username: "admin"},
		Password:    func() (string, error) { return "", errors.New("no such file") },
	})
	if _, err := c.Hosts(t.Context()); !IsLogin(err) || !IsTransient(err) || logins(server) > 0 {
		t.Errorf("%d logins: %v", logins(server), err)
	}
}

// TestRefCheck checks that a resource of a status is validated before it becomes part of a path.
func TestRefCheck(t *testing.T) {
	for _, good := range []Ref{{"Chain", "", chainID}, {"Rule", chainID, ruleID}, {"PortLink", bPortID, ""}, {"IPv4MACPair", bridgeID, "10.1.0.2_ac-ca-ba-00-00-11"}} {
		if err := good.Check(); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range []Ref{{"Unknown", "", chainID}, {"Chain", "", ""}, {"Chain", bridgeID, chainID}, {"Chain", "", "a/b"}, {"Rule", "", ruleID}, {"Rule", "x", ruleID}, {"PortLink", "", ""}} {
		if bad.Check() == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestKindsOfRejection checks that a fenced write and an invalid one can be distinguished.
func TestKindsOfRejection(t *testing.T) {
	_, c, _ := connect(t, fake.Options{}, Options{BeforeWrite: func() error { return errors.New("no Lease") }})
	if err := c.Delete(t.Context(), Ref{Kind: "Chain", ID: chainID}); !IsFenced(err) || IsInvalid(err) || IsTransient(err) {
		t.Errorf("fenced: %v", err)
	}
	if err := c.Delete(t.Context(), Ref{Kind: "Chain", ID: ".."}); IsFenced(err) || !IsInvalid(err) || IsTransient(err) {
		t.Errorf("invalid: %v", err)
	}
}
